#pragma once

#include <functional>
#include <memory>
#include <string>

namespace kiln::cli {

/// A line of stderr that is written again and again where that is a terminal.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine();  ///< wipes it

  bool terminal() const { return terminal_; }
  /// On a terminal only: replaces the line.
  void Show(const std::string& text);
  void Wipe();
  /// Ends it, with this text.
  void End(const std::string& text);

 private:
  bool terminal_;
  bool shown_ = false;
};

/// Says what takes more than two seconds, and how far it is where that is known: "interpreting …
/// 42 %", else "running … 3 s". A terminal is updated several times a second, whatever the stage
/// does meanwhile; anything else every five seconds, and only of what knows how far it is.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Takes the share that is done. May outlive the progress.
  std::function<void(double)> Callback();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace kiln::cli
