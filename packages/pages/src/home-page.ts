import { EMERGENCY_LINES } from '@plainpath/domain'
import { askForm } from './ask-page.ts'
import { waitlistSection } from './form-pages.ts'
import { type Html, html } from './html.ts'
import type { PageLink } from './site-frame.ts'
import { type GuideInList, guidesBySituation } from './situations.ts'

export interface HomePage {
  readonly guides: readonly GuideInList[]
  /** Shell lines that work when they are pasted, in the order in which they are tried. */
  readonly commands: readonly { readonly does: string; readonly line: string }[]
  /** Where an agent reads on. */
  readonly links: readonly PageLink[]
  /** The slug of the person whose link led here. */
  readonly referredBySlug?: string | undefined
}

/** The body of `/`: the question box, the guides by situation, urgent help, and the way in for AI software. */
export function homePage({ guides, commands, links, referredBySlug }: HomePage): Html {
  return html`<div class="home">
<section class="question-box">
<h1>Plain-English guides to U.S. immigration</h1>
${askForm({ label: 'Ask in your own words' })}
<p class="urgent">In danger, or is somebody detained? <a href="/get-help">Get help now</a></p>
<p class="not">Plainpath is <strong>not a law firm and not the government</strong>. It gives information.</p>
<p class="facts"><a href="#agents">For AI software and developers</a> · <a href="/connect">Ask in a chat app</a></p>
</section>
${referredBySlug !== undefined && html`<section>\n${waitlistSection({ referredBySlug })}\n</section>`}
<section aria-labelledby="guides">
<h2 id="guides">Guides by situation</h2>
${guides.length === 0 ? html`<p>No guide is published yet.</p>` : situationList(guides)}
</section>
${urgentHelp()}
${referredBySlug === undefined && html`<section>\n${waitlistSection({})}\n</section>`}
<section class="agents" aria-labelledby="agents">
<h2 id="agents">For AI software and developers</h2>
<p>An AI agent signs itself up and reads the same guides through the API. Paste these lines into a shell, in this order.</p>
<div class="columns">
<ol class="commands">
${commands.map(({ does, line }) => html`<li>${does}\n<pre><code>${line}</code></pre></li>\n`)}</ol>
${links.length > 0 && linkList(links)}
</div>
</section>
</div>`
}

const situationList = (guides: readonly GuideInList[]) => html`<ul class="situations">
${guidesBySituation(guides).map(({ id, title, about }) => html`<li><a href="/guides#${id}">${title}</a>\n<p>${about}</p></li>\n`)}<li><a href="/guides">All guides</a>\n<p>On one page, each with its summary.</p></li>
</ul>`

function urgentHelp(): Html {
  const { danger, detention, court } = EMERGENCY_LINES
  return html`<section class="attorney" aria-labelledby="urgent">
<h2 id="urgent">Urgent help</h2>
<ul>
<li><strong>You are in danger now:</strong> call <a class="phone" href="${`tel:${danger.phone}`}">${danger.phone}</a></li>
<li><strong>Somebody is detained:</strong> <a href="/get-help#detained">find the person, and a lawyer</a>. The line of ICE is ${phoneLink(detention.phone)}.</li>
<li><strong>You have a hearing:</strong> do not miss it. The line of the court is ${phoneLink(court.phone)}.</li>
</ul>
<p><a href="/get-help">All urgent lines, and how to find a free lawyer</a></p>
</section>`
}

const phoneLink = (phone: string) => html`<a class="tel" href="${`tel:${phone}`}">${phone}</a>`

const linkList = (links: HomePage['links']) => html`<div>
<h3>To read on</h3>
<ul>
${links.map(({ href, text }) => html`<li><a href="${href}">${text}</a></li>\n`)}</ul>
</div>`
