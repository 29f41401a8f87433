import { durationIn, numberInWords, RULES } from '@plainpath/domain'
import { officialLists } from './attorney-help.ts'
import { type Html, html } from './html.ts'

export interface ContactForm {
  readonly topic?: string
  readonly message?: string
  readonly email?: string
  /** By field: what is wrong, and what to do. */
  readonly mistakes?: Readonly<Partial<Record<ContactField, string>>>
}

export type ContactField = 'topic' | 'message' | 'email'

const TOPICS = [
  ['question', 'A question about a guide'],
  ['correction', 'A mistake in a guide'],
  ['attorney', 'I need an attorney'],
  ['other', 'Something else'],
] as const

/** The body of `/contact`: the lists of attorneys first, then the form. */
export function contactPage({ topic = '', message = '', email = '', mistakes = {} }: ContactForm = {}): Html {
  const wrong = Object.entries(mistakes)
  return html`${
    wrong.length > 0 &&
    html`<div class="summary" role="alert" tabindex="-1" autofocus>
<h2>There is a mistake</h2>
${wrong.map(([field, text]) => html`<p><a href="#${field}">${text}</a></p>\n`)}</div>`
  }
<h1>Write to us</h1>
<p>We read every message. We cannot give legal advice, and we are not the government.</p>
<h2>If you need an attorney</h2>
${officialLists()}
<h2>Your message</h2>
<form class="form" action="/contact" method="post" novalidate>
<label for="topic">What is it about?</label>
${mistakeAt('topic', mistakes.topic)}
<select id="topic" name="topic">
${TOPICS.map(([value, text]) => (value === topic ? html`<option value="${value}" selected>${text}</option>\n` : html`<option value="${value}">${text}</option>\n`))}</select>
<label for="message">Your message</label>
<p>Leave out numbers of documents, such as your A-Number. At most ${RULES.messageCharacters} characters.</p>
${mistakeAt('message', mistakes.message)}
<textarea id="message" name="message" rows="8">${message}</textarea>
<label for="email">Your e-mail address, for our answer</label>
${mistakeAt('email', mistakes.email)}
<input id="email" name="email" type="email" autocomplete="email" autocapitalize="none" spellcheck="false" value="${email}">
<p><strong>What happens next:</strong> we send you a mail with a link. Open it and press the button: only then we get your message. <a href="/privacy">What we keep</a></p>
<button type="submit">Send me the link</button>
</form>`
}

const mistakeAt = (field: ContactField, text: string | undefined) =>
  text !== undefined &&
  html`<p class="mistake" id="${`${field}-mistake`}"><strong>Mistake:</strong> ${text}</p>`

/** After the form was sent. It says the same for every address. */
export const contactMailedPage = (): Html => html`<h1>Open the mail that we send you</h1>
<p>Your message is not sent yet. Open the link in the mail and press the button within ${durationIn('hour', RULES.unconfirmedMessageMs)}.</p>
<p>We send at most ${numberInWords(RULES.mailsToMailbox)} mails a day to one mailbox. If none comes, look in the spam folder, or try again tomorrow.</p>
<p><a href="/">Back to the guides</a></p>`
