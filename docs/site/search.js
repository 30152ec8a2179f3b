// Search in the sections of all pages, without a server: each row of the index is a page's address and title, a
// section's anchor and title, and its text.
'use strict';

const field = document.querySelector('.search input');
const list = document.getElementById('results');
const most = 20;
let loading = null;

function load() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = root.dataset.root + 'search-index.js';
    script.onload = () => resolve(window.searchIndex.map(prepare));
    script.onerror = reject;
    document.head.append(script);
  });
  return loading;
}

function prepare([url, page, anchor, title, text]) {
  const file = title === page ? url.split('/').pop().split('.')[0] : '';
  return {url, page, anchor, title, text, file, names: `${page} ${title}`.toLowerCase(), body: text.toLowerCase()};
}

// 0 unless every word is there. Most counts a page that is named by a word, then a title with it; a section that says it
// often counts a little more.
function score(row, words) {
  let sum = 0;
  for (const word of words) {
    const title = row.title.toLowerCase();
    let points = 0;
    if (row.file === word) points += 80;
    if (title === word) points += 40;
    if (wholeWord(title, word)) points += 20;
    if (title.includes(word)) points += 10;
    if (row.names.includes(word)) points += 8;
    const times = row.body.split(word).length - 1;
    if (times) points += 2 + Math.min(times, 8) + (wholeWord(row.body, word) ? 4 : 0);
    if (!points) return 0;
    sum += points;
  }
  return sum;
}

function wholeWord(text, word) {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!/[\w]/.test(text[at - 1] ?? ' ') && !/[\w]/.test(text[at + word.length] ?? ' ')) return true;
  }
  return false;
}

function find(rows, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const found = rows.map(row => ({row, points: score(row, words)})).filter(hit => hit.points);
  found.sort((a, b) => b.points - a.points);
  return found.slice(0, most).map(hit => ({...hit.row, words}));
}

// Some words before and after the first one that was looked for.
function excerpt(hit) {
  const first = Math.min(...hit.words.map(word => hit.body.indexOf(word)).filter(at => at >= 0), Infinity);
  const start = first === Infinity ? 0 : Math.max(0, hit.text.lastIndexOf(' ', Math.max(0, first - 50)) + 1);
  return (start ? '… ' : '') + hit.text.slice(start, start + 160);
}

function marked(tag, text, words) {
  const element = document.createElement(tag);
  const pattern = new RegExp('(' + words.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|') + ')', 'i');
  for (const [at, part] of text.split(pattern).entries()) {
    const mark = at % 2 ? document.createElement('mark') : document.createTextNode('');
    mark.textContent = part;
    element.append(mark);
  }
  return element;
}

function show(hits, query) {
  list.replaceChildren(...hits.map((hit, at) => {
    const link = document.createElement('a');
    link.href = root.dataset.root + hit.url + (hit.anchor ? '#' + hit.anchor : '');
    link.id = 'result-' + at;
    link.tabIndex = -1;
    link.setAttribute('role', 'option');
    const title = hit.title === hit.page ? hit.page : `${hit.page} › ${hit.title}`;
    link.append(marked('strong', title, hit.words), marked('span', excerpt(hit), hit.words));
    return link;
  }));
  if (!hits.length && query) list.textContent = 'Nothing is found.';
  list.hidden = !query;
  field.setAttribute('aria-expanded', !list.hidden);
  choose(0);
}

function choose(at) {
  const links = list.querySelectorAll('a');
  links.forEach((link, place) => link.setAttribute('aria-selected', place === at));
  if (links[at]) {
    field.setAttribute('aria-activedescendant', links[at].id);
    links[at].scrollIntoView({block: 'nearest'});
  } else {
    field.removeAttribute('aria-activedescendant');
  }
}

async function search() {
  const query = field.value.trim();
  const rows = await load();
  if (query === field.value.trim()) show(find(rows, query), query);
}

function move(event) {
  const links = [...list.querySelectorAll('a')];
  const at = links.findIndex(link => link.getAttribute('aria-selected') === 'true');
  if (event.key === 'ArrowDown') choose(Math.min(at + 1, links.length - 1));
  else if (event.key === 'ArrowUp') choose(Math.max(at - 1, 0));
  else if (event.key === 'Enter') links[at]?.click();
  else if (event.key === 'Escape') show([], '');
  else return;
  event.preventDefault();
}

field.addEventListener('focus', load);
field.addEventListener('input', search);
field.addEventListener('keydown', move);
field.form.addEventListener('submit', event => event.preventDefault());
list.addEventListener('click', () => show([], ''));
document.addEventListener('click', event => { if (!field.form.contains(event.target)) show([], ''); });
document.addEventListener('keydown', event => {
  if (event.key === '/' && !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
    event.preventDefault();
    field.select();
  }
});
