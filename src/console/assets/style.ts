/** How it looks: in dark and in light, on a phone, on paper and for those who use no mouse. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #f6f7f8; --card: #ffffff; --ink: #1c1f23; --faint: #565d66; --line: #d5d9de; --line-strong: #7b838d;
  --link: #0b57a4; --focus: #0b57a4; --accent: #1d5fa8; --on-accent: #ffffff;
  --good: #17692f; --bad: #ab1f1f; --warn: #80500a; --bad-paper: #fdeeee; --good-paper: #ebf6ee; --warn-paper: #fdf5e4;
  --mark-paper: #ffe08a; --mark-ink: #3d2c00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #111418; --card: #181c21; --ink: #e4e7ea; --faint: #a3abb5; --line: #2e353d; --line-strong: #79838f;
    --link: #8dc0f7; --focus: #8dc0f7; --accent: #8dc0f7; --on-accent: #0d1a28;
    --good: #7fd194; --bad: #ff9a94; --warn: #f0c36d; --bad-paper: #331a1b; --good-paper: #152a1b; --warn-paper: #2d2413;
    --mark-paper: #5a4300; --mark-ink: #ffe6a6;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: anywhere; }
main { max-width: 70rem; margin: 0 auto; padding: 1rem 1rem 4rem; }
main:focus { outline: none; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .75rem 0 1rem; }
h2 { font-size: 1.125rem; line-height: 1.3; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .375rem; }
.card > h3:first-of-type { margin-top: 0; }
p { margin: .375rem 0; }
a { color: var(--link); text-underline-offset: .15em; }
code, pre { font: .875rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; border-radius: 3px; }
[hidden] { display: none !important; }
.unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; left: .5rem; top: -4rem; background: var(--card); padding: .5rem .75rem; z-index: 1; }
.skip:focus { top: .5rem; }
.faint { color: var(--faint); font-size: .9375rem; }
.whole { white-space: nowrap; }
.part { display: block; }
.left { font-variant-numeric: tabular-nums; }

.top { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; align-items: center; padding: .5rem 1rem; background: var(--card); border-bottom: 1px solid var(--line); }
.brand { font-weight: 700; color: var(--ink); text-decoration: none; padding: .375rem 0; }
.top nav ul { display: flex; flex-wrap: wrap; gap: 0 1rem; list-style: none; margin: 0; padding: 0; }
.top nav li { display: flex; align-items: center; gap: .375rem; }
.top nav a { display: inline-block; padding: .375rem 0; text-decoration: none; border-bottom: 2px solid transparent; }
.top nav a:hover { text-decoration: underline; }
.top nav a[aria-current] { color: var(--ink); border-bottom-color: var(--accent); }
.who { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: center; margin-left: auto; font-size: .9375rem; color: var(--faint); }
.badge { display: inline-block; min-width: 1.5rem; padding: 0 .375rem; border-radius: 1rem; background: var(--bad); color: var(--card); font-size: .8125rem; line-height: 1.5rem; text-align: center; }

button, input, select { font: inherit; color: inherit; min-height: 2.75rem; border-radius: 6px; border: 1px solid var(--line-strong); background: var(--card); padding: .375rem .75rem; }
button { cursor: pointer; font-weight: 600; }
button:hover { border-color: var(--ink); }
button:disabled, input:disabled, select:disabled { cursor: not-allowed; opacity: .6; }
button.quiet { min-height: 2.25rem; font-weight: 400; }
button.approve { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
button.deny { color: var(--bad); border-color: var(--bad); }
input, select { width: 100%; max-width: 26rem; }
input[type=checkbox], input[type=radio] { width: 1.25rem; height: 1.25rem; min-height: 0; margin: .2rem 0 0; flex: none; accent-color: var(--accent); }
input::placeholder { color: var(--faint); opacity: 1; }
label { display: block; font-weight: 600; margin-bottom: .375rem; }
.choice { display: flex; margin: 0; gap: .625rem; align-items: flex-start; font-weight: 400; padding: .375rem 0; }
fieldset { border: 0; margin: 0 0 .5rem; padding: 0; }
.fields { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 14rem), 1fr)); gap: .25rem 1rem; align-items: end; }
.fields > * { min-width: 0; }
.fields .buttons { display: flex; gap: 1rem; align-items: center; }

.card, .notice, .verdict { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .75rem 1rem; }
.cards { list-style: none; margin: 0; padding: 0; display: grid; gap: .75rem; }
.main { font-weight: 600; font-size: 1.0625rem; }
.narrow { max-width: 28rem; }
.empty { color: var(--faint); }
.notice { margin: .75rem 0; background: var(--warn-paper); border-color: var(--warn); }
.notice.bad, .verdict.bad { background: var(--bad-paper); border-color: var(--bad); }
.verdict { margin: .75rem 0; }
.verdict.good { background: var(--good-paper); border-color: var(--good); }
#connection, #gone { position: fixed; right: 1rem; bottom: 1rem; left: 1rem; max-width: 30rem; margin: 0 auto; }

.risk { display: inline-block; padding: 0 .5rem; border: 1px solid currentColor; border-radius: 4px; font-size: .8125rem; line-height: 1.5rem; letter-spacing: .02em; vertical-align: .1em; white-space: nowrap; }
.risk-critical { color: var(--bad); background: var(--bad-paper); }
.risk-high { color: var(--warn); background: var(--warn-paper); }
.risk-medium { color: var(--link); }
.risk-low { color: var(--faint); }
.state::before { content: "● "; font-size: .75em; vertical-align: .15em; }
.state.waiting { color: var(--warn); }
.state.running { color: var(--link); }
.state.good { color: var(--good); }
.state.bad { color: var(--bad); }

.rows { width: 100%; margin: .75rem 0; border-collapse: collapse; background: var(--card); border: 1px solid var(--line); font-size: .9375rem; }
.rows th, .rows td { padding: .5rem .75rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; font-weight: 400; }
.rows thead th { color: var(--faint); font-size: .8125rem; white-space: nowrap; }
.rows tbody tr:last-child > * { border-bottom: 0; }
.rows form { margin: 0; }
.rows details pre { max-width: 32rem; }

.facts { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: .5rem 0; }
.facts dt { color: var(--faint); }
.facts dd { margin: 0; min-width: 0; }

.question { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .25rem 1rem 1rem; margin: 1rem 0; }
.question pre { margin: 0; white-space: pre-wrap; }
.question .values { list-style: none; margin: 0; padding: 0; }
.question .quoted { border-left: 2px solid var(--line-strong); padding-left: .5rem; }
.question .lines { margin: 0; padding: .5rem 0; border: 1px solid var(--line); border-radius: 6px; background: var(--paper); padding-left: 3.5rem; list-style: none; }
/* Numbers as they are written: counting those of a list takes browsers half a minute for some ten thousand lines. */
.question .lines li { display: block; position: relative; padding-left: .5rem; border-left: 1px solid var(--line); }
.question .lines li::before { content: attr(value); position: absolute; right: 100%; padding-right: .5rem; color: var(--faint); font: .8125rem/1.6 ui-monospace, Menlo, Consolas, monospace; font-variant-numeric: tabular-nums; white-space: nowrap; }
.question .escape { background: var(--mark-paper); color: var(--mark-ink); border-radius: 2px; }
.question .mark { color: var(--faint); }
.question .dangerous { color: var(--bad); font-weight: 600; }
.question .findings ul { margin: 0; padding-left: 1.25rem; }
.question .measure, .question .hash, .question .remark { color: var(--faint); font-size: .875rem; }
.question .remark { color: var(--warn); }
.question .facts.risk-critical dd, .question .facts.risk-high dd { color: var(--ink); }
.question .facts { background: none; }
.answers { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 1rem; align-items: start; }

.output { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .5rem 0; max-height: 70vh; min-height: 3rem; overflow: auto; }
.run { display: grid; grid-template-columns: 4rem minmax(0, 1fr); border-left: 4px solid transparent; padding-right: .75rem; }
.run .stream { font-size: .75rem; line-height: 1.3125rem; color: var(--faint); padding-left: .625rem; user-select: none; }
.run pre { margin: 0; white-space: pre-wrap; unicode-bidi: isolate; direction: ltr; }
.run.stderr { border-left-color: var(--bad); background: var(--bad-paper); }
.run.stderr .stream { color: var(--bad); }
figure { margin: .75rem 0; }
.chart { display: block; max-width: 100%; height: auto; background: #fff; border: 1px solid var(--line); border-radius: 6px; }
.result { display: block; width: 100%; height: 24rem; resize: vertical; border: 1px solid var(--line); border-radius: 6px; background: #fff; }
.result.short { height: 13rem; }
pre.text { margin: .25rem 0; padding: .5rem .75rem; background: var(--paper); border: 1px solid var(--line); border-radius: 6px; white-space: pre-wrap; max-height: 24rem; overflow: auto; direction: ltr; }
summary { cursor: pointer; color: var(--link); padding: .25rem 0; }

@media (min-width: 60rem) {
  /* What is asked for stands beside what holds for it, so that the findings and the code come into sight. */
  .question { display: grid; grid-template-columns: 1fr 1fr; column-gap: 2rem; }
  .question > * { grid-column: 1 / -1; min-width: 0; }
  .question > .policy { grid-column: 1; }
  .question > .parameters { grid-column: 2; }
}
@media (max-width: 48rem) {
  .top nav ul { gap: 0 .75rem; }
  .who { margin-left: 0; width: 100%; justify-content: space-between; }
  .rows, .rows tbody, .rows tr, .rows th, .rows td { display: block; }
  .rows thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .rows tr { padding: .5rem .75rem; border-bottom: 1px solid var(--line); }
  .rows tbody tr:last-child { border-bottom: 0; }
  .rows th, .rows td { padding: .125rem 0; border: 0; }
  .rows td { display: inline-block; margin-right: .875rem; max-width: 100%; vertical-align: baseline; }
  .rows [data-label]::before { content: attr(data-label) " "; color: var(--faint); font-size: .8125rem; }
  .facts { grid-template-columns: 1fr; gap: 0; }
  .facts dd { margin-bottom: .5rem; }
  .question { padding: .25rem .75rem .75rem; }
  .question .lines { padding-left: 2.5rem; }
  .run { grid-template-columns: 1fr; padding-left: .5rem; }
  .run .stream { padding-left: 0; }
}
@media (prefers-reduced-motion: no-preference) { .skip { transition: top .1s; } }
@media (forced-colors: active) { .run.stderr { border-left-color: Mark; } .state::before { forced-color-adjust: none; } }
`;
