import { askForm } from './ask-page.ts'
import { officialLists } from './attorney-help.ts'
import { waitlistSection } from './form-pages.ts'
import { type Html, html } from './html.ts'
import { searchBox } from './search-page.ts'

export interface HomePage {
  readonly guides: readonly { readonly slug: string; readonly title: string; readonly summary: string }[]
  /** Shell lines that work when they are pasted, in the order in which they are tried. */
  readonly commands: readonly { readonly does: string; readonly line: string }[]
  /** Where an agent reads on. */
  readonly links: readonly { readonly href: string; readonly text: string }[]
  /** The slug of the person whose link led here. */
  readonly referredBySlug?: string | undefined
}

/** The body of `/`: what the service is and is not, and one door for people, one for agents. */
export function homePage({ guides, commands, links, referredBySlug }: HomePage): Html {
  return html`<div class="welcome">
<h1>Plain-English guides to U.S. immigration</h1>
<p class="lead">Each guide says what a form or a rule is for, what to do next, and which official page says so.</p>
<p class="notice">Plainpath is <strong>not a law firm and not the government</strong>. It gives information, not legal advice. When a case is hard, talk to an attorney.</p>
</div>
<div class="doors">
<section aria-labelledby="people">
<h2 id="people">For people</h2>
${referredBySlug !== undefined && waitlistSection({ referredBySlug })}
${askForm({ label: 'Ask in your own words' })}
${guides.length > 0 && searchBox()}
${referredBySlug === undefined && html`<p><a href="#waitlist">Join the waitlist</a> to be the first to hear what comes next.</p>`}
${guides.length === 0 ? html`<p>No guide is published yet.</p>` : guideList(guides)}
<h3>To talk to an attorney</h3>
${officialLists()}
<p><a href="/contact">Write to us</a> if a guide has a mistake, or you have a question.</p>
${referredBySlug === undefined && waitlistSection({})}
</section>
<section aria-labelledby="agents">
<h2 id="agents">For agents</h2>
<p>An agent signs itself up and reads the same guides through the API. Paste these lines into a shell, in this order.</p>
<ol class="commands">
${commands.map(({ does, line }) => html`<li>${does}\n<pre><code>${line}</code></pre></li>\n`)}</ol>
${links.length > 0 && linkList(links)}
</section>
</div>`
}

const guideList = (guides: HomePage['guides']) => html`<ul class="guides">
${guides.map(({ slug, title, summary }) => html`<li><a href="/guides/${slug}">${title}</a>\n<p>${summary}</p></li>\n`)}</ul>`

const linkList = (links: HomePage['links']) => html`<h3>To read on</h3>
<ul>
${links.map(({ href, text }) => html`<li><a href="${href}">${text}</a></li>\n`)}</ul>`
