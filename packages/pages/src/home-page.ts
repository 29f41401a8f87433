import { EMERGENCY_LINES } from '@plainpath/domain'
import { renderAskForm } from './ask-page.ts'
import { renderWaitlistSection } from './form-pages.ts'
import { type Html, html } from './html.ts'
import type { PageLink } from './site-frame.ts'
import { type GuideInList, groupGuidesBySituation } from './situations.ts'

export interface HomePageContent {
  readonly guides: readonly GuideInList[]
  /** Shell commands to paste in this order. A script may have several lines. */
  readonly commands: readonly { readonly description: string; readonly script: string }[]
  /** Links to further documents for agents. */
  readonly links: readonly PageLink[]
  /** The referral slug of the person whose link led here. */
  readonly referredBySlug?: string | undefined
}

/**
 * Renders the body of `/`: the question box, the guides by situation, urgent help, the waitlist, and the commands for AI software. For a
 * visitor who followed a referral link, the waitlist comes before the guides, because such links invite people to join it.
 */
export function renderHomePage({ guides, commands, links, referredBySlug }: HomePageContent): Html {
  return html`<div class="home">
<section class="question-box">
<h1>Plain-English guides to U.S. immigration</h1>
${renderAskForm({ label: 'Ask in your own words' })}
<p class="urgent">In danger? <a href="/get-help">Get help now</a>. Detained? <a href="/get-help#detained">What to do</a></p>
<p class="not">Plainpath is <strong>not a law firm and not the government</strong>. It gives information, not legal advice.</p>
<p class="facts ways"><a href="#agents">For AI software and developers</a> <a href="/connect">Ask in a chat app</a></p>
</section>
${referredBySlug !== undefined && html`<section>\n${renderWaitlistSection({ referredBySlug })}\n</section>`}
<section aria-labelledby="guides">
<h2 id="guides">Guides by situation</h2>
${guides.length === 0 ? html`<p>No guide is published yet.</p>` : renderSituationList(guides)}
</section>
${renderUrgentHelp()}
${referredBySlug === undefined && html`<section>\n${renderWaitlistSection({})}\n</section>`}
<section class="agents" aria-labelledby="agents">
<h2 id="agents">For AI software and developers</h2>
<p>An AI agent signs itself up and reads the same guides through the API. Paste these lines into a shell, in this order.</p>
<div class="columns">
<ol class="commands">
${commands.map(({ description, script }) => html`<li>${description}\n<pre><code>${script}</code></pre></li>\n`)}</ol>
${links.length > 0 && renderLinkList(links)}
</div>
</section>
</div>`
}

const renderSituationList = (guides: readonly GuideInList[]) => html`<ul class="situations">
${groupGuidesBySituation(guides).map(({ id, title, about }) => html`<li><a href="/guides#${id}">${title}</a>\n<p>${about}</p></li>\n`)}<li><a href="/guides">All guides</a>\n<p>On one page, each with its summary.</p></li>
</ul>`

function renderUrgentHelp(): Html {
  const { danger, detention, court } = EMERGENCY_LINES
  return html`<section class="attorney" aria-labelledby="urgent">
<h2 id="urgent">Urgent help</h2>
<ul>
<li><strong>You are in danger now:</strong> call ${renderPhoneLink(danger.phone, 'phone')}</li>
<li><strong>Somebody is detained:</strong> <a href="/get-help#detained">find the person, and a lawyer</a>. You can also call the detention line of ICE, a government agency: ${renderPhoneLink(detention.phone, 'tel')}.</li>
<li><strong>You have a hearing:</strong> do not miss it. To check its date, call the information line of the immigration court: ${renderPhoneLink(court.phone, 'tel')}.</li>
</ul>
<p><a href="/get-help">All urgent lines, and how to find a free lawyer</a></p>
</section>`
}

/** @param style a class of the style sheet: `phone` is large and bold, `tel` looks like the text around it */
const renderPhoneLink = (phone: string, style: 'phone' | 'tel') =>
  html`<a class="${style}" href="${`tel:${phone}`}">${phone}</a>`

const renderLinkList = (links: HomePageContent['links']) => html`<div>
<h3>Read more</h3>
<ul>
${links.map(({ href, text }) => html`<li><a href="${href}">${text}</a></li>\n`)}</ul>
</div>`
