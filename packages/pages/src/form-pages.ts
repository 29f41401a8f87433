import { type ContactTopic, durationIn, numberInWords, RULES } from '@plainpath/domain'
import { renderOfficialLists } from './attorney-help.ts'
import { groupDigits } from './group-digits.ts'
import { type Html, html } from './html.ts'
import { keepTogether } from './keep-together.ts'

interface WaitlistForm {
  /** The person's input; empty at first. */
  readonly email?: string
  /** The referral slug of the person whose link led here. */
  readonly referredBySlug?: string | undefined
  /** Describes the mistake in the address, and what to type instead. */
  readonly mistake?: string
}

/** Renders the waitlist form. It works without scripts, because the service checks the address, not the browser. */
export function renderWaitlistForm({ email = '', referredBySlug, mistake }: WaitlistForm = {}): Html {
  return html`<form class="form" action="/waitlist" method="post" novalidate>
<label for="email">Your e-mail address</label>
${renderMistake('email', mistake)}
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

const ABOUT_WAITLIST = html`This is not a list for a visa, a case or an attorney: it is for news about Plainpath. We are building more than these guides. Leave your ${EMAIL} address to be among the first.`

/** Renders the waitlist on the home page. */
export const renderWaitlistSection = (
  form: WaitlistForm,
): Html => html`<h2 id="waitlist">Join the waitlist</h2>
<p>${ABOUT_WAITLIST}</p>
${renderWaitlistForm(form)}`

/** Renders the body of `/waitlist`. Explains a mistake at the top and next to the field. */
export function renderWaitlistPage(form: WaitlistForm): Html {
  return html`${renderMistakeSummary({ email: form.mistake })}
<h1>Join the waitlist</h1>
<p>${ABOUT_WAITLIST}</p>
${renderWaitlistForm(form)}`
}

/** A note about missing mails. It is the same for every address, so it does not reveal how many mails we sent. */
const MISSING_MAIL_NOTE = html`<p>We send at most ${numberInWords(RULES.mailsToMailbox)} of these ${EMAIL}s a day to one address. If you do not find ours, look in the spam folder. You are on the list even if it does not come.</p>`

/**
 * Renders the body of `/waitlist` after a person has joined.
 *
 * @param referralUrl the person's own link, which no other page shows
 */
export function renderJoinedPage({ referralUrl }: { referralUrl: string }): Html {
  return html`<h1>You are on the waitlist</h1>
<h2>What happens next</h2>
<p>We send you one ${EMAIL}. Open its first link to confirm your address. If you do nothing, your address stays on the list.</p>
${MISSING_MAIL_NOTE}
<h2>Your own link to share</h2>
<p>We show it here once. It is in the ${EMAIL}, too.</p>
<pre><code id="referral">${referralUrl}</code></pre>
<p>When somebody joins with your link and confirms, we count it. The link does not say who you are.</p>
<h2>How to leave the list</h2>
<p>Open the other link in that ${EMAIL}, and press the button. It works at any time. We then erase your address. If you no longer have the ${EMAIL}, <a href="/contact">write to us</a>, and we send you a new link.</p>
<p><a href="/">To the home page</a></p>`
}

/** Renders the body of `/waitlist` for an address that is already on the list. It reveals nothing else about the entry. */
export const renderAlreadyJoinedPage = (): Html => html`<h1>This address is on the waitlist already</h1>
<p>You do not need to do anything. The link to share, and the link to take the address off the list, are in the one ${EMAIL} that we send when an address joins.</p>
${MISSING_MAIL_NOTE}
<p><a href="/">To the home page</a></p>`

interface ContactForm {
  /** The address of the page, shown only on paper. */
  readonly url?: string
  readonly topic?: string
  readonly message?: string
  readonly email?: string
  /** The ids of the hand-off triggers in an answer, and whether the person shares them with the staff. */
  readonly handOff?: { readonly triggers: readonly string[]; readonly areReasonsShared: boolean } | undefined
  /** Describes the mistake in each field, and what to do. */
  readonly mistakes?: Readonly<Partial<Record<ContactField, string>>>
}

export type ContactField = 'topic' | 'message' | 'email' | 'handOff'

/** The label of each topic that people can choose. */
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
  other: 'Ask about this website, your data, or an agent that uses Plainpath.',
}

/** Renders the body of `/contact`: where to find urgent help, then the form, then the attorney lists. */
export function renderContactPage(form: ContactForm = {}): Html {
  return html`${renderMistakeSummary(form.mistakes ?? {})}
<h1>Write to us</h1>
<p class="urgent">Do not wait for us if somebody is in danger or detained, or you have a court date or a deadline soon: <a href="/get-help">get help now</a>.</p>
${form.mistakes === undefined && html`<p>A person reads every message, and answers by ${EMAIL}, usually within ${numberInWords(RULES.replyWorkingDays)} working days. We cannot give legal advice, and we are not the government. We can read only English.</p>`}
${renderContactForm(form)}
<h2>If you need an attorney</h2>
${renderOfficialLists()}
${form.url !== undefined && html`<p class="printed">${form.url}</p>`}`
}

/**
 * Renders the contact form, for any page.
 *
 * @param form.fixedTopic replaces the choice of a topic
 */
export function renderContactForm({
  topic = '',
  fixedTopic,
  message = '',
  email = '',
  handOff,
  mistakes = {},
}: ContactForm & { fixedTopic?: ContactTopic } = {}): Html {
  return html`<form class="form" action="/contact" method="post" autocomplete="off" novalidate>
${fixedTopic === undefined ? renderTopicField(topic, mistakes.topic) : html`<input name="topic" type="hidden" value="${fixedTopic}">`}
<div>
<label for="message">Your message</label>
<p class="facts" id="message-hint">Leave out numbers of documents, such as your ${keepTogether('A-Number')}. At most ${groupDigits(RULES.messageCharacters)} characters.</p>
${renderMistake('message', mistakes.message)}
<textarea id="message" name="message" rows="8" aria-invalid="${getAriaInvalid(mistakes.message)}" aria-describedby="${getDescriptionIds('message', mistakes.message)}">${message}</textarea>
</div>
<div>
<label for="email">Your e-mail address</label>
<p class="facts" id="email-hint">We answer to this address. If somebody else reads your e-mails, use another one.</p>
${renderMistake('email', mistakes.email)}
<input id="email" name="email" type="email" autocomplete="email" autocapitalize="none" spellcheck="false" value="${email}" aria-invalid="${getAriaInvalid(mistakes.email)}" aria-describedby="${getDescriptionIds('email', mistakes.email)}">
</div>
${handOff && renderHandOffField(handOff, mistakes.handOff)}
<p><strong>What happens next:</strong> we send you an ${EMAIL} with a link. Open it and press the button: only then do we get your message. Our answer comes by ${EMAIL}, usually within ${numberInWords(RULES.replyWorkingDays)} working days. <a href="/privacy">What we keep</a></p>
<button type="submit">Send me the link</button>
</form>`
}

const getAriaInvalid = (mistake: string | undefined) => (mistake === undefined ? 'false' : 'true')

/** Returns the ids of the elements that describe a field: its mistake, if any, and its hint. */
const getDescriptionIds = (field: string, mistake: string | undefined) =>
  mistake === undefined ? `${field}-hint` : `${field}-mistake ${field}-hint`

/** Renders the topic choices. The first has the field's id, to which the mistake summary links. */
function renderTopicField(topic: string, mistake: string | undefined): Html {
  const choices = Object.entries(CONTACT_TOPICS).map(([value, text], index) => {
    const id = index === 0 ? 'topic' : `topic-${value}`
    const hint = TOPIC_HINTS[value as ContactTopic]
    const radio =
      value === topic
        ? html`<input id="${id}" name="topic" type="radio" value="${value}" aria-describedby="${id}-hint" checked>`
        : html`<input id="${id}" name="topic" type="radio" value="${value}" aria-describedby="${id}-hint">`
    return html`<div class="choice">${radio}\n<label for="${id}">${text}</label>\n<p class="facts" id="${id}-hint">${hint}</p></div>\n`
  })
  const content = html`<legend>What is it about?</legend>
${renderMistake('topic', mistake)}
${choices}`
  return mistake === undefined
    ? html`<fieldset>${content}</fieldset>`
    : html`<fieldset aria-describedby="topic-mistake">${content}</fieldset>`
}

/** Renders the checkbox that shares the triggers with the staff. They learn the triggers only if the person ticks it. */
const renderHandOffField = (
  { triggers, areReasonsShared }: NonNullable<ContactForm['handOff']>,
  mistake: string | undefined,
) => html`${triggers.map((trigger) => html`<input name="trigger" type="hidden" value="${trigger}">\n`)}<div class="choice">
${
  areReasonsShared
    ? html`<input id="handOff" name="handOff" type="checkbox" value="yes" aria-describedby="handOff-hint" checked>`
    : html`<input id="handOff" name="handOff" type="checkbox" value="yes" aria-describedby="handOff-hint">`
}
<label for="handOff">Tell the staff why the answer sent me to an attorney</label>
<p class="facts" id="handOff-hint">They answer urgent messages first.</p>
${renderMistake('handOff', mistake)}
</div>`

/** Renders the page after a person has sent a valid contact form. It is the same for every address. */
export const renderContactMailedPage = (): Html => html`<h1>Open the ${EMAIL} that we send you</h1>
<p>Our staff do not have your message yet. You must do one more step: open the link in the ${EMAIL} and press the button within ${durationIn('hour', RULES.unconfirmedMessageMs)}.</p>
<p>From one internet connection, you can get at most ${numberInWords(RULES.mailsToMailbox)} of these ${EMAIL}s a day at one address. If ours does not arrive, look in the spam folder, where unwanted ${EMAIL}s go. Did you type a wrong address? <a href="/contact">Fill in the form again</a>. You have to write your message again.</p>
<p class="urgent">Do not wait for us if somebody is in danger or detained, or you have a court date or a deadline soon: <a href="/get-help">get help now</a>.</p>
<p><a href="/">To the home page</a></p>`

interface LinkPage {
  readonly title: string
  /** The text before the button. */
  readonly text: string
  /** The path to which the form is sent. */
  readonly action: string
  /** The secret in the mailed link, which the form sends as `link`. */
  readonly secret: string
  /** The label of the button. */
  readonly button: string
  /** Says what happens if the person does not press the button. By default, it says that nothing changes. */
  readonly otherwise?: string
}

const NOTHING_CHANGES = 'If you do not want this, close the page. Nothing changes.'

/** Renders a page that a mailed link opens, with a button. Opening the page changes nothing. */
export const renderLinkPage = ({
  title,
  text,
  action,
  secret,
  button,
  otherwise = NOTHING_CHANGES,
}: LinkPage): Html => html`<h1>${title}</h1>
<p>${keepTogether(text)}</p>
<form class="form" action="${action}" method="post">
<input name="link" type="hidden" value="${secret}">
<button type="submit">${button}</button>
</form>
<p>${keepTogether(otherwise)}</p>`

/** Renders the page after the button of `renderLinkPage`, or instead of it if the link no longer works. */
export const renderLinkDonePage = ({
  title,
  text,
  more,
}: {
  title: string
  text: string
  more?: Html | undefined
}): Html => html`<h1>${title}</h1>
<p>${keepTogether(text)}</p>
${more}
<p><a href="/">To the home page</a></p>`

/**
 * Renders the list of mistakes at the top of a page. `autofocus` moves a screen reader's focus there without a script.
 *
 * @param mistakes the text about each mistake, by the id of its field
 * @returns false, which renders as nothing, if there are no mistakes
 */
export function renderMistakeSummary(mistakes: Readonly<Record<string, string | undefined>>) {
  const mistakeEntries = Object.entries(mistakes).filter(([, text]) => text !== undefined)
  return (
    mistakeEntries.length > 0 &&
    html`<div class="summary" role="alert" tabindex="-1" autofocus>
<h2>${mistakeEntries.length === 1 ? 'Fix this first' : 'Fix these first'}</h2>
${mistakeEntries.map(([field, text]) => html`<p><a href="#${field}">${text !== undefined && keepTogether(text)}</a></p>\n`)}</div>`
  )
}

/** Renders the text about a mistake, next to its field. */
export const renderMistake = (field: string, text: string | undefined) =>
  text !== undefined && html`<p class="mistake" id="${`${field}-mistake`}">${keepTogether(text)}</p>`
