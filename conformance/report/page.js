'use strict';
// The page is complete without this: it filters the lists and copies lines.
for (const input of document.querySelectorAll('input[data-filters]')) {
  const items = [...document.querySelectorAll(input.dataset.filters)];
  const texts = items.map((item) => item.dataset.text || item.querySelector('summary, th').textContent.toLowerCase());
  const count = input.parentElement.querySelector('[data-count]');
  const apply = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    items.forEach((item, i) => {
      item.hidden = !words.every((word) => texts[i].includes(word));
      if (!item.hidden) ++shown;
    });
    if (count) count.textContent = words.length ? shown + ' of ' + items.length : '';
  };
  input.addEventListener('input', apply);
  input.parentElement.hidden = false;
}
document.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-copy]');
  if (!button) return;
  const code = button.parentElement.querySelector('code');
  const done = () => { button.textContent = 'Copied'; setTimeout(() => { button.textContent = 'Copy'; }, 1200); };
  const select = () => {
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  };
  if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, select);
  else select();
});
if (location.hash) {
  const target = document.getElementById(location.hash.slice(1));
  if (target && target.tagName === 'DETAILS') target.open = true;
}
