// Keeps an open page fresh. Without this file every page is whole; with it nobody has to load it again.
(function () {
  'use strict';

  var body = document.body;
  var sign = document.getElementById('live');
  var pollEvery = 10000; // where no stream can be had

  function tell(word, lost) {
    if (!sign) { return; }
    sign.hidden = false;
    sign.textContent = word;
    sign.classList.toggle('lost', !!lost);
  }

  // A place that somebody is busy in is left as it is: what they have ticked, typed or marked would be gone.
  function busy(place) {
    if (place.contains(document.activeElement) && document.activeElement !== body) { return true; }
    if (place.querySelector('input:checked, details[open]')) { return true; }
    var marked = window.getSelection();
    return !!marked && !marked.isCollapsed && place.contains(marked.anchorNode);
  }

  function swap(id, html) {
    var place = document.getElementById(id);
    if (!place || busy(place)) { return; }
    place.innerHTML = html;
    ticks(place);
  }

  // ---- the page that stays open --------------------------------------------------------------------------------

  var stream = null;
  var opened = false;
  var refused = 0;
  var timer = null;

  function listen() {
    if (!body.dataset.live || stream || timer) { return; }
    stream = new EventSource(body.dataset.live);
    stream.addEventListener('open', function () { opened = true; refused = 0; tell(body.dataset.fresh); });
    stream.addEventListener('part', function (e) { var p = JSON.parse(e.data); swap(p.id, p.html); });
    stream.addEventListener('looked', function (e) {
      var looked = JSON.parse(e.data);
      tell(body.dataset.fresh + ' ' + looked.at);
      swap('made', looked.made);
    });
    stream.addEventListener('trouble', function (e) { tell(JSON.parse(e.data).text, true); });
    stream.addEventListener('error', function () {
      tell(body.dataset.lost, true);
      if (stream.readyState === EventSource.CLOSED || (!opened && ++refused > 1)) { // refused, or nothing gets through
        hush();
        timer = setInterval(poll, pollEvery);
        tell(body.dataset.slow);
      }
    });
  }

  function hush() {
    if (stream) { stream.close(); stream = null; }
    if (timer) { clearInterval(timer); timer = null; }
    opened = false;
  }

  function poll() {
    fetch(location.href, { credentials: 'same-origin', headers: { Accept: 'text/html' } }).then(function (answer) {
      if (!answer.ok) { throw new Error(answer.status); }
      return answer.text();
    }).then(function (text) {
      var page = new DOMParser().parseFromString(text, 'text/html');
      var parts = Array.from(page.querySelectorAll('[id]')).filter(function (part) { return /^(made$|(overview|topic|job|sidecars|audit)-)/.test(part.id); });
      if (parts.length < 2) { throw new Error('another page'); } // the login, when the session has ended
      parts.forEach(function (part) { swap(part.id, part.innerHTML); });
      tell(body.dataset.slow);
    }).catch(function () { tell(body.dataset.lost, true); });
  }

  document.addEventListener('visibilitychange', function () {
    if (document.hidden) { hush(); } else { listen(); }
  });
  window.addEventListener('pagehide', hush);

  // ---- a search that goes on by itself -------------------------------------------------------------------------

  function search() {
    var place = document.getElementById('search-progress');
    if (!place || !place.dataset.stream) { return; }
    var steps = new EventSource(place.dataset.stream);
    steps.addEventListener('part', function (e) { var p = JSON.parse(e.data); document.getElementById(p.id).innerHTML = p.html; });
    steps.addEventListener('more', function (e) { var p = JSON.parse(e.data); document.getElementById(p.id).insertAdjacentHTML('beforeend', p.html); });
    steps.addEventListener('trouble', function (e) { steps.close(); tell(JSON.parse(e.data).text, true); });
    steps.addEventListener('end', function () { steps.close(); });
    steps.addEventListener('error', function () { steps.close(); }); // the link that goes on is still there
    window.addEventListener('pagehide', function () { steps.close(); });
  }

  // ---- one tick for all ----------------------------------------------------------------------------------------

  function ticks(place) {
    place.querySelectorAll('[data-all]').forEach(function (all) {
      all.hidden = false;
      all.addEventListener('change', function () {
        all.closest('table').querySelectorAll('input[name=ref]').forEach(function (one) { one.checked = all.checked; });
      });
    });
  }

  ticks(document);
  search();
  if (!document.hidden && window.EventSource) { listen(); }
})();
