import { type ContactTopic, durationIn, numberInWords, RULES } from '@plainpath/domain'
import { officialLists } from './attorney-help.ts'
import { keepForms } from './form-numbers.ts'
import { groupDigits } from './group-digits.ts'
import { type Html, html } from './html.ts'

interface WaitlistForm {
  /** What was typed; empty before anything was. */
  readonly email?: string
  /** The slug of the person whose link led here. */
  readonly referredBySlug?: string | undefined
  /** What is wrong with the address, and what to type instead. */
  readonly mistake?: string
}

/** The form of `/` and `/waitlist`. It works without scripts; the service checks the address, not the browser. */
export function waitlistForm({ email = '', referredBySlug, mistake }: WaitlistForm = {}): Html {
  return html`<form class="form" action="/waitlist" method="post" novalidate>
<label for="email">Your e-mail address</label>
${mistakeAt('email', mistake)}
${
  mistake === undefined
    ? html`<input id="email" name="email" type="email" autocomplete="email" autocapitalize="none" spellcheck="false" value="${email}">`
    : html`<input id="email" name="email" type="email" autocomplete="email" autocapitalize="none" spellcheck="false" value="${email}" aria-invalid="true" aria-describedby="email-mistake">`
}
${referredBySlug !== undefined && html`<input name="referredBySlug" type="hidden" value="${referredBySlug}">`}
<p><strong>What happens next:</strong> we keep your address encrypted, show you a link that you can share, and send you one ${EMAIL}. In it you confirm, or take your address off the list. <a href="/privacy">What we keep</a></p>
<button type="submit">Join the waitlist</button>
</form>`
}

const EMAIL = html`<span class="form-name">e-mail</span>`

const ABOUT = html`We are building more than these guides. Leave your ${EMAIL} address to be among the first. This is not a list for a visa, a case or an attorney.`

/** The waitlist on the home page. */
export const waitlistSection = (form: WaitlistForm): Html => html`<h2 id="waitlist">Join the waitlist</h2>
<p>${ABOUT}</p>
${waitlistForm(form)}`

/** The body of `/waitlist`: the form, with what is wrong said on top and beside the field. */
export function waitlistPage(form: WaitlistForm): Html {
  return html`${mistakeSummary({ email: form.mistake })}
<h1>Join the waitlist</h1>
${form.mistake === undefined && html`<p>${ABOUT}</p>`}
${waitlistForm(form)}`
}

/** The same for every address: nobody learns from it how many mails one gets. */
const noMail = html`<p>We send at most ${numberInWords(RULES.mailsToMailbox)} ${EMAIL}s a day to one address. If you do not find ours, look in the spam folder. You are on the list without it too.</p>`

/** The body of `/waitlist` for somebody new. @param referralUrl is shown here and never again */
export function joinedPage({ referralUrl }: { referralUrl: string }): Html {
  return html`<h1>You are on the waitlist</h1>
<h2>What happens next</h2>
<p>We send you one ${EMAIL}. Open its first link to confirm your address. If you do nothing, your address stays on the list.</p>
${noMail}
<h2>How to leave the list</h2>
<p>Open the other link in that ${EMAIL}, and press the button. It works at any time. We then erase your address. If you no longer have the ${EMAIL}, <a href="/contact">write to us</a>, and we send you a new link.</p>
<h2>Your own link to share</h2>
<p>We show it here once. It is in the ${EMAIL}, too.</p>
<pre><code id="referral">${referralUrl}</code></pre>
<p>When somebody joins by it and confirms, we count that they came by your link. The link does not say who you are.</p>
<p><a href="/">Back to the guides</a></p>`
}

/** The body of `/waitlist` for an address that is on it. It says nothing of the entry. */
export const alreadyJoinedPage = (): Html => html`<h1>This address is on the waitlist already</h1>
<p>You do not need to do anything. The link to share, and the link to take the address off the list, are in the one ${EMAIL} that we send when an address joins.</p>
${noMail}
<p><a href="/">Back to the guides</a></p>`

interface ContactForm {
  /** Where the page is, for its print. */
  readonly url?: string
  readonly topic?: string
  readonly message?: string
  readonly email?: string
  /** Ids of hand-off triggers that an answer named, and whether staff are told them. */
  readonly handOff?: { readonly triggers: readonly string[]; readonly isTold: boolean } | undefined
  /** By field: what is wrong, and what to do. */
  readonly mistakes?: Readonly<Partial<Record<ContactField, string>>>
}

export type ContactField = 'topic' | 'message' | 'email' | 'handOff'

/** What people choose as the topic of a message, and what each is for. */
export const CONTACT_TOPICS: Readonly<Record<ContactTopic, string>> = {
  question: 'A question about a guide',
  correction: 'A mistake in a guide',
  attorney: 'I need an attorney',
  other: 'Something else',
}

const TOPIC_HINTS: Readonly<Record<ContactTopic, string>> = {
  question: 'We can explain what a guide says. We cannot say what to do in your case.',
  correction: 'Something is wrong, old or unclear. Say which guide, and what it says.',
  attorney: 'We can show you how to find one. We are not attorneys, and we cannot take your case.',
  other: 'For example this website, your data, or an agent that uses Plainpath.',
}

/** The body of `/contact`: where to find help that cannot wait, the form, then the lists of attorneys. */
export function contactPage(form: ContactForm = {}): Html {
  return html`${mistakeSummary(form.mistakes ?? {})}
<h1>Write to us</h1>
${form.mistakes === undefined && html`<p>A person reads every message, and answers by ${EMAIL}, usually within ${numberInWords(RULES.replyWorkingDays)} working days. We cannot give legal advice, and we are not the government. We can read English only.</p>`}
<p class="notice">Do not wait for us if somebody is in danger or detained, or you have a court date or a deadline soon: <a href="/get-help">get help now</a>.</p>
${contactForm(form)}
<h2>If you need an attorney</h2>
${officialLists()}
${form.url !== undefined && html`<p class="printed">${form.url}</p>`}`
}

/** The form of `/contact`, for any page: it posts there. @param form.fixedTopic what the message is about, where there is no choice */
export function contactForm({
  topic = '',
  fixedTopic,
  message = '',
  email = '',
  handOff,
  mistakes = {},
}: ContactForm & { fixedTopic?: ContactTopic } = {}): Html {
  return html`<form class="form" action="/contact" method="post" autocomplete="off" novalidate>
${fixedTopic === undefined ? topicField(topic, mistakes.topic) : html`<input name="topic" type="hidden" value="${fixedTopic}">`}
<div>
<label for="message">Your message</label>
<p class="facts" id="message-hint">Leave out numbers of documents, such as your ${keepForms('A-Number')}. At most ${groupDigits(RULES.messageCharacters)} characters.</p>
${mistakeAt('message', mistakes.message)}
<textarea id="message" name="message" rows="8" aria-invalid="${isMistaken(mistakes.message)}" aria-describedby="${describedBy('message', mistakes.message)}">${message}</textarea>
</div>
<div>
<label for="email">Your e-mail address</label>
<p class="facts" id="email-hint">We answer to this address. If somebody else reads your e-mails, use another one.</p>
${mistakeAt('email', mistakes.email)}
<input id="email" name="email" type="email" autocomplete="email" autocapitalize="none" spellcheck="false" value="${email}" aria-invalid="${isMistaken(mistakes.email)}" aria-describedby="${describedBy('email', mistakes.email)}">
</div>
${handOff && handOffField(handOff, mistakes.handOff)}
<p><strong>What happens next:</strong> we send you an ${EMAIL} with a link. Open it and press the button: only then do we get your message. Our answer comes by ${EMAIL}, usually within ${numberInWords(RULES.replyWorkingDays)} working days. <a href="/privacy">What we keep</a></p>
<button type="submit">Send me the link</button>
</form>`
}

const isMistaken = (mistake: string | undefined) => (mistake === undefined ? 'false' : 'true')

/** The ids of what describes a field: its mistake, if there is one, and its hint. */
const describedBy = (field: string, mistake: string | undefined) =>
  mistake === undefined ? `${field}-hint` : `${field}-mistake ${field}-hint`

/** The first choice has the id of the field, to which the summary of mistakes leads. */
function topicField(topic: string, mistake: string | undefined): Html {
  const choices = Object.entries(CONTACT_TOPICS).map(([value, text], index) => {
    const id = index === 0 ? 'topic' : `topic-${value}`
    const hint = TOPIC_HINTS[value as ContactTopic]
    const radio =
      value === topic
        ? html`<input id="${id}" name="topic" type="radio" value="${value}" aria-describedby="${id}-hint" checked>`
        : html`<input id="${id}" name="topic" type="radio" value="${value}" aria-describedby="${id}-hint">`
    return html`<div class="choice">${radio}\n<label for="${id}">${text}</label>\n<p class="facts" id="${id}-hint">${hint}</p></div>\n`
  })
  const inside = html`<legend>What is it about?</legend>
${mistakeAt('topic', mistake)}
${choices}`
  return mistake === undefined
    ? html`<fieldset>${inside}</fieldset>`
    : html`<fieldset aria-describedby="topic-mistake">${inside}</fieldset>`
}

/** Staff learn the triggers only when the person ticks the box. */
const handOffField = (
  { triggers, isTold }: NonNullable<ContactForm['handOff']>,
  mistake: string | undefined,
) => html`${triggers.map((trigger) => html`<input name="trigger" type="hidden" value="${trigger}">\n`)}<div class="choice">
${
  isTold
    ? html`<input id="handOff" name="handOff" type="checkbox" value="yes" aria-describedby="handOff-hint" checked>`
    : html`<input id="handOff" name="handOff" type="checkbox" value="yes" aria-describedby="handOff-hint">`
}
<label for="handOff">Tell the staff why the answer sent me to an attorney</label>
<p class="facts" id="handOff-hint">They answer urgent messages first.</p>
${mistakeAt('handOff', mistake)}
</div>`

/** After the form was sent. It says the same for every address. */
export const contactMailedPage = (): Html => html`<h1>Open the e-mail that we send you</h1>
<p>We have not sent your message yet. Open the link in the ${EMAIL} and press the button within ${durationIn('hour', RULES.unconfirmedMessageMs)}.</p>
<p>We send at most ${numberInWords(RULES.mailsToMailbox)} ${EMAIL}s a day to one address. If ours does not arrive, look in the spam folder, or try again tomorrow.</p>
<p><a href="/">Back to the guides</a></p>`

interface LinkPage {
  readonly title: string
  /** Said before the button. */
  readonly text: string
  /** Where the form goes. */
  readonly action: string
  /** The secret of the link in the mail. */
  readonly link: string
  readonly button: string
  /** What happens without the button; that nothing changes, when absent. */
  readonly otherwise?: string
}

const NOTHING = 'If you do not want this, close the page. Nothing changes.'

/** The page that a link in a mail opens. It says what the button does. Opening it changes nothing. */
export const linkPage = ({
  title,
  text,
  action,
  link,
  button,
  otherwise = NOTHING,
}: LinkPage): Html => html`<h1>${title}</h1>
<p>${text}</p>
<form class="form" action="${action}" method="post">
<input name="link" type="hidden" value="${link}">
<button type="submit">${button}</button>
</form>
<p>${otherwise}</p>`

/** Says what the button did. */
export const linkDonePage = ({
  title,
  text,
  more,
}: {
  title: string
  text: string
  more?: Html | undefined
}): Html => html`<h1>${title}</h1>
<p>${text}</p>
${more}
<p><a href="/">Back to the guides</a></p>`

/** What is wrong, on top of a page; `autofocus` moves a reader, and a screen reader, here without a script. */
export function mistakeSummary(mistakes: Readonly<Record<string, string | undefined>>) {
  const wrong = Object.entries(mistakes).filter(([, text]) => text !== undefined)
  return (
    wrong.length > 0 &&
    html`<div class="summary" role="alert" tabindex="-1" autofocus>
<h2>${wrong.length === 1 ? 'Fix this first' : 'Fix these first'}</h2>
${wrong.map(([field, text]) => html`<p><a href="#${field}">${text}</a></p>\n`)}</div>`
  )
}

/** The same beside the field. */
export const mistakeAt = (field: string, text: string | undefined) =>
  text !== undefined && html`<p class="mistake" id="${`${field}-mistake`}">${text}</p>`
