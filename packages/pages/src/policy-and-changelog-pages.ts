import { durationIn, RULES } from '@plainpath/domain'
import { type Html, html } from './html.ts'
import { keepTogether } from './keep-together.ts'
import { renderCalendarDay } from './long-date.ts'

/**
 * Renders the body of `/privacy`.
 *
 * @param rows the data that we store, the form in which we store it, and for how long
 */
export function renderPrivacyPage(rows: readonly { what: string; how: string; howLong: string }[]): Html {
  return html`<h1>Privacy</h1>
<h2>Do you keep my question?</h2>
<p>No. We use your question or search only to answer it, and then we do not keep it. If you write to our staff, we keep that message for a limited time. <a href="#kept">The list below</a> says how long.</p>
<h2>Do you tell the government about me?</h2>
<p>No. This site sends nothing to the government, and we are not the government. A court can order a service to hand over what it has. So we keep little, and this page says what.</p>
<h2>Do you know who I am?</h2>
<p>Not if you only read, search or ask: you do not have to tell us. If you join the waitlist, confirm an agent, sign in with an app or write to us, we have your ${keepTogether('e-mail')} address.</p>
<h2>What we do not keep</h2>
<ul>
<li>Cookies. Only the page where you sign in with an app sets any, for at most ${durationIn('minute', RULES.signInMs)}. Our pages store nothing else in your browser, and load nothing from other sites. Two kinds of pages have a small script of ours: those with the link “Leave this page”, and the API reference. All pages work without it.</li>
<li>What you search for, and which guides you read. Our log has neither.</li>
<li>Your network address. To count requests, we turn it into a code whose key changes each day.</li>
</ul>
<h2>What others can learn</h2>
<p>Anyone who types your ${keepTogether('e-mail')} address into the waitlist form learns whether it is on the list. They learn nothing else.</p>
<p>If you use an agent, the company behind it can see what you ask it. We cannot change that.</p>
<h2 id="kept">What we keep, and how long</h2>
<p>Two words come up often in this list. <strong>Encrypted</strong> means scrambled: only somebody with the key can read it. A <strong>hash</strong> is a code that we make from something. It lets us see whether two things are the same, and we do not keep the thing itself. For a “keyed hash” we also use a secret key.</p>
<dl class="kept">
${rows.map(({ what, how, howLong }) => html`<dt>${keepTogether(what)}</dt>\n<dd>${keepTogether(how)}</dd>\n<dd><strong>How long:</strong> ${keepTogether(howLong)}</dd>\n`)}</dl>
<h2>If you find a security problem</h2>
<p>Our <a href="/.well-known/security.txt">security.txt</a> says where to report it.</p>`
}

/** Renders the body of `/terms`, with the version of this service. */
export const renderTermsPage = (version: string): Html => html`<h1>Terms</h1>
<p class="lead">Plainpath is free. It is not legal advice and not the government. This page says what you can expect, and what we ask of you.</p>
<h2>What this is</h2>
<p>Plainpath gives information about U.S. immigration. It is <strong>not legal advice</strong>. Plainpath is not a law firm and not the government, and reading a guide does not make us your attorney.</p>
<p>Rules and fees change. Each guide names its official sources and the day we checked them. Look at the official page before you act. If your case is hard, talk to an attorney.</p>
<h2>What it costs</h2>
<p>It costs nothing. If somebody asks you for money for Plainpath, it is fraud. <a href="/contact">Tell us</a>.</p>
<h2>What we do not promise</h2>
<p>This is version ${version}. It may contain mistakes, and it may be unavailable. You use it as is.</p>
<p>The <a href="/changelog">list of API changes</a> says what changes. <a href="/privacy">Privacy</a> says what we keep.</p>
<h2>For developers of AI agents</h2>
<ul>
<li>Register once for each person you serve. Keep the secret out of logs and chats.</li>
<li>Ask the person before you send their ${keepTogether('e-mail')} address.</li>
<li>Tell people that the guides are general information. If a guide says to talk to an attorney, pass that on.</li>
<li>Stay within the limits stated in each response. We may revoke a registration that harms others.</li>
<li>You may read the guides to answer people and to search. Do not train models on them. <a href="/robots.txt">robots.txt</a> says the same.</li>
</ul>`

/** A change to the API. */
interface Change {
  /** `YYYY-MM-DD` */
  readonly day: string
  readonly text: Html
  /** The affected API operations, each with the address of its description. */
  readonly operations: readonly { readonly method: string; readonly path: string; readonly url: string }[]
}

/**
 * Renders the body of `/changelog`.
 *
 * @param releases the releases, newest first
 */
export function renderChangelogPage(
  releases: readonly { version: string; changes: readonly Change[] }[],
): Html {
  return html`<h1>API changes</h1>
<p>In 0.x, we add to the API and avoid removing anything. If we must remove something, we announce it here 90 days ahead, and in the <code>Deprecation</code> and <code>Sunset</code> headers.</p>
${releases.map(({ version, changes }) => html`<h2>${version}</h2>\n${listChangeDays(changes).map((day) => html`<h3>${renderCalendarDay(day)}</h3>\n<ul class="changes">\n${changes.filter((change) => change.day === day).map(renderChangeItem)}</ul>\n`)}`)}`
}

/** Lists the days on which something changed, newest first. */
const listChangeDays = (changes: readonly Change[]) =>
  [...new Set(changes.map(({ day }) => day))].toSorted().toReversed()

const renderChangeItem = ({ text, operations }: Change): Html =>
  html`<li>${text}${operations.map(({ method, path, url }, index) => html`${index > 0 && ','} <a href="${url}"><code>${method} ${path}</code></a>`)}</li>\n`
