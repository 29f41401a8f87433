import { type Html, html } from './html.ts'
import { keepTogether } from './keep-together.ts'
import { type GuideInList, groupGuidesBySituation } from './situations.ts'

/** Renders the body of `/guides`: all guides by situation. Court and detention come first, because they are urgent. */
export function renderGuidesPage(guides: readonly GuideInList[]): Html {
  /** Returns 1 for the urgent situation, and 0 for others. */
  const getUrgency = ({ id }: { id: string }) => Number(id === 'court')
  const situations = groupGuidesBySituation(guides).toSorted(
    (one, other) => getUrgency(other) - getUrgency(one),
  )
  return html`<div class="listing">
<div class="intro">
<h1>Guides</h1>
<p class="lead">Each guide says what a form or a rule is for, what to do next, and which official page says so.</p>
<p class="urgent">If it is urgent, <a href="/get-help">get help</a>.</p>
<p>All guides are in English. Not sure which one? <a href="/ask">Ask in your own words</a>.</p>
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
  ({ id, title, about, guides: situationGuides }) => html`<section class="situation" aria-labelledby="${id}">
<div>
<h2 id="${id}">${title}</h2>
<p class="facts">${about}</p>
</div>
${renderGuideList(situationGuides)}
</section>\n`,
)}<p class="facts">For machines: the guides as <a href="/api/guides" type="application/json">JSON</a>, and <a href="/guides.atom" type="application/atom+xml">changes to them</a>.</p>
</div>`
}

/** Renders a list of guides with their summaries. */
export const renderGuideList = (guides: readonly GuideInList[]): Html => html`<ul class="guides">
${guides.map(({ slug, title, summary }) => html`<li><a href="/guides/${slug}">${keepTogether(title)}</a>\n<p>${keepTogether(summary)}</p></li>\n`)}</ul>`
