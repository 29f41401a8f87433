import { keepForms } from './form-numbers.ts'
import { type Html, html } from './html.ts'
import { type GuideInList, guidesBySituation } from './situations.ts'

/** The body of `/guides`: every guide, by the situation in which a person needs it; what cannot wait comes first. */
export function guidesPage(guides: readonly GuideInList[]): Html {
  const isUrgent = ({ id }: { id: string }) => Number(id === 'court')
  const situations = guidesBySituation(guides).toSorted((one, other) => isUrgent(other) - isUrgent(one))
  return html`<div class="listing">
<div class="intro">
<h1>Guides</h1>
<p class="lead">Each guide says what a form or a rule is for, what to do next, and which official page says so.</p>
<p>All guides are in English. Not sure which one? <a href="/ask">Ask in your own words</a>. If it is urgent, <a href="/get-help">get help</a>.</p>
</div>
${
  guides.length === 0
    ? html`<p>No guide is published yet.</p>`
    : html`<nav class="jump" aria-label="Situations">
<ul>
${situations.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>\n`)}</ul>
</nav>`
}
${situations.map(
  ({ id, title, about, guides: own }) => html`<section class="situation" aria-labelledby="${id}">
<div>
<h2 id="${id}">${title}</h2>
<p class="facts">${about}</p>
</div>
${guideList(own)}
</section>\n`,
)}<p class="facts">For machines: the guides as <a href="/api/guides" type="application/json">JSON</a>, and <a href="/guides.atom" type="application/atom+xml">changes to them</a>.</p>
</div>`
}

/** Guides with what each is about. */
export const guideList = (guides: readonly GuideInList[]): Html => html`<ul class="guides">
${guides.map(({ slug, title, summary }) => html`<li><a href="/guides/${slug}">${keepForms(title)}</a>\n<p>${keepForms(summary)}</p></li>\n`)}</ul>`
