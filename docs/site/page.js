// Light and dark, the list of pages on narrow screens, and a button that copies each block of code.
'use strict';

const root = document.documentElement;

// Before anything is drawn, so that nothing flashes. A browser may refuse to keep anything for a file.
function keptTheme(value) {
  try {
    return value === undefined ? localStorage.getItem('theme') : localStorage.setItem('theme', value);
  } catch {
    return null;
  }
}
if (keptTheme()) root.dataset.theme = keptTheme();

function changeTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = dark ? 'light' : 'dark';
  keptTheme(root.dataset.theme);
}

function showMenu(shown) {
  root.classList.toggle('menu-open', shown);
  document.querySelector('.menu').setAttribute('aria-expanded', shown);
}

function addCopyButton(block) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    // Of a transcript, what was typed.
    const prompts = block.querySelectorAll('.gp').length > 0;
    const lines = block.innerText.split('\n');
    const text = prompts ? lines.filter(line => line.startsWith('$ ')).map(line => line.slice(2)).join('\n') : block.innerText;
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  const frame = document.createElement('div');
  frame.className = 'code';
  block.replaceWith(frame);
  frame.append(block, button);
}

document.addEventListener('DOMContentLoaded', () => {
  document.querySelector('.theme').addEventListener('click', changeTheme);
  document.querySelector('.menu').addEventListener('click', () => showMenu(!root.classList.contains('menu-open')));
  document.addEventListener('keydown', event => { if (event.key === 'Escape') showMenu(false); });
  if (navigator.clipboard) document.querySelectorAll('article pre').forEach(addCopyButton);
  // Beside the text there is room for them.
  const contents = document.querySelector('.contents');
  if (contents) contents.open = matchMedia('(min-width: 1180px)').matches;
  const here = document.querySelector('nav [aria-current]');
  if (here) here.scrollIntoView({block: 'center'});
});
