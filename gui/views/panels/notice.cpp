#include "gui/views/panels/notice.hpp"

#include <QStyle>
#include <utility>

namespace penstock {

Notice::Notice() : text_(new TextLine("What went wrong")), remedy_(new QPushButton) {
  setObjectName("notice");
  setMovable(false);
  setAccessibleName("Notice");
  auto* sign = new QLabel;
  sign->setPixmap(style()->standardIcon(QStyle::SP_MessageBoxWarning).pixmap(18, 18));
  addWidget(sign);
  text_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  text_->setMinimumWidth(120);
  text_->setObjectName("problem");
  text_->on_click = [this] { on_text(); };
  addWidget(text_);
  addWidget(remedy_);
  auto* other = new QPushButton("Open another file…");
  addWidget(other);
  auto* close = new QPushButton("Close");
  addWidget(close);
  remedy_->setObjectName("remedy");
  connect(remedy_, &QPushButton::clicked, this, [this] {
    hide();
    mend_();
  });
  connect(other, &QPushButton::clicked, this, [this] {
    hide();
    on_other();
  });
  connect(close, &QPushButton::clicked, this, [this] { hide(); });
  hide();
}

void Notice::show_problem(const QString& text, const QString& remedy, std::function<void()> mend) {
  if (text.isEmpty()) return hide();
  text_->set_text(text);
  remedy_->setText(remedy);
  mend_ = std::move(mend);
  show();
}

}  // namespace penstock
