// Package dash is the dashboard: the pages that show topics, jobs, pools and sidecars, and let people put them right.
//
// It knows neither Redis nor PHP-FPM. What it shows comes from a Source, whose values the JSON API encodes too, and who may do what comes from
// whoever guards it, by WithViewer. All pages lie side by side under one root with relative links, so that they work under any prefix of a proxy.
// They are whole without JavaScript; that only keeps them fresh. Nothing is loaded from elsewhere, and nothing is inline
// but SVG: a Content-Security-Policy of "default-src 'self'" holds.
package dash
