import { type ContactTopic, durationIn, numberInWords, RULES } from '@plainpath/domain'
import { officialLists } from './attorney-help.ts'
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
<p><strong>What happens next:</strong> we keep your address encrypted, show you a link that you can share, and send you one mail. In it you confirm, or take your address off the list. <a href="/privacy">What we keep</a></p>
<button type="submit">Join the waitlist</button>
</form>`
}

const ABOUT = 'We are building more than these guides. Leave your e-mail address to be among the first.'

/** The waitlist on the home page. */
export const waitlistSection = (form: WaitlistForm): Html => html`<h3 id="waitlist">Join the waitlist</h3>
<p>${ABOUT}</p>
${waitlistForm(form)}`

/** The body of `/waitlist`: the form, with what is wrong said on top and beside the field. */
export function waitlistPage(form: WaitlistForm): Html {
  return html`${mistakeSummary({ email: form.mistake })}
<h1>Join the waitlist</h1>
<p>${ABOUT}</p>
${waitlistForm(form)}`
}

/** The same for every address: nobody learns from it how many mails one gets. */
const noMail = html`<p>We send at most ${numberInWords(RULES.mailsToMailbox)} mails a day to one mailbox. If you do not find ours, look in the spam folder. You are on the list without it too.</p>`

/** The body of `/waitlist` for somebody new. @param referralUrl is shown here and never again */
export function joinedPage({ referralUrl }: { referralUrl: string }): Html {
  return html`<h1>You are on the waitlist</h1>
<p>This is your own link to share. We show it here once.</p>
<pre><code id="referral">${referralUrl}</code></pre>
<p>When somebody joins through it and confirms, we keep that you led them here. The link does not say who you are.</p>
<p>We send you one mail with the same link. Open it to confirm your address, or to take it off the list. If you do nothing, your address stays on the list.</p>
${noMail}
<p><a href="/">Back to the guides</a></p>`
}

/** The body of `/waitlist` for an address that is on it. It says nothing of the entry. */
export const alreadyJoinedPage = (): Html => html`<h1>This address is on the waitlist already</h1>
<p>You do not need to do anything. The link to share, and the link to take the address off the list, are in the one mail that we send when an address joins.</p>
${noMail}
<p><a href="/">Back to the guides</a></p>`

interface ContactForm {
  readonly topic?: string
  readonly message?: string
  readonly email?: string
  /** Ids of hand-off triggers that an answer named, and whether staff are told them. */
  readonly handOff?: { readonly triggers: readonly string[]; readonly isTold: boolean } | undefined
  /** By field: what is wrong, and what to do. */
  readonly mistakes?: Readonly<Partial<Record<ContactField, string>>>
}

export type ContactField = 'topic' | 'message' | 'email' | 'handOff'

/** What people choose as the topic of a message. */
export const CONTACT_TOPICS: Readonly<Record<ContactTopic, string>> = {
  question: 'A question about a guide',
  correction: 'A mistake in a guide',
  attorney: 'I need an attorney',
  other: 'Something else',
}

/** The body of `/contact`: the lists of attorneys first, then the form. */
export function contactPage(form: ContactForm = {}): Html {
  return html`${mistakeSummary(form.mistakes ?? {})}
<h1>Write to us</h1>
<p>We read every message. We cannot give legal advice, and we are not the government.</p>
<h2>If you need an attorney</h2>
${officialLists()}
<h2>Your message</h2>
${contactForm(form)}`
}

/** The form of `/contact`, for any page: it posts there. */
export function contactForm({
  topic = '',
  message = '',
  email = '',
  handOff,
  mistakes = {},
}: ContactForm = {}): Html {
  return html`<form class="form" action="/contact" method="post" novalidate>
<label for="topic">What is it about?</label>
${mistakeAt('topic', mistakes.topic)}
<select id="topic" name="topic">
${Object.entries(CONTACT_TOPICS).map(([value, text]) => (value === topic ? html`<option value="${value}" selected>${text}</option>\n` : html`<option value="${value}">${text}</option>\n`))}</select>
<label for="message">Your message</label>
<p>Leave out numbers of documents, such as your A-Number. At most ${RULES.messageCharacters} characters.</p>
${mistakeAt('message', mistakes.message)}
<textarea id="message" name="message" rows="8">${message}</textarea>
<label for="email">Your e-mail address, for our answer</label>
${mistakeAt('email', mistakes.email)}
<input id="email" name="email" type="email" autocomplete="email" autocapitalize="none" spellcheck="false" value="${email}">
${handOff && handOffField(handOff)}
<p><strong>What happens next:</strong> we send you a mail with a link. Open it and press the button: only then we get your message. <a href="/privacy">What we keep</a></p>
<button type="submit">Send me the link</button>
</form>`
}

/** Staff learn the triggers only when the person ticks the box. */
const handOffField = ({ triggers, isTold }: NonNullable<ContactForm['handOff']>) =>
  html`${triggers.map((trigger) => html`<input name="trigger" type="hidden" value="${trigger}">\n`)}<p><label>${
    isTold
      ? html`<input name="handOff" type="checkbox" value="yes" checked>`
      : html`<input name="handOff" type="checkbox" value="yes">`
  } Tell the staff why the answer sent me to an attorney. They answer urgent messages first.</label></p>`

/** After the form was sent. It says the same for every address. */
export const contactMailedPage = (): Html => html`<h1>Open the mail that we send you</h1>
<p>We have not sent your message yet. Open the link in the mail and press the button within ${durationIn('hour', RULES.unconfirmedMessageMs)}.</p>
<p>We send at most ${numberInWords(RULES.mailsToMailbox)} mails a day to one mailbox. If ours does not arrive, look in the spam folder, or try again tomorrow.</p>
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
<h2>There is a mistake</h2>
${wrong.map(([field, text]) => html`<p><a href="#${field}">${text}</a></p>\n`)}</div>`
  )
}

/** The same beside the field. */
export const mistakeAt = (field: string, text: string | undefined) =>
  text !== undefined &&
  html`<p class="mistake" id="${`${field}-mistake`}"><strong>Mistake:</strong> ${text}</p>`
