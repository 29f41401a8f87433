import { type Html, html } from './html.ts'

export interface LinkPage {
  readonly title: string
  /** Said before the button. */
  readonly text: string
  /** Where the form goes. */
  readonly action: string
  /** The secret of the link in the mail. */
  readonly link: string
  readonly button: string
  /** What is so without the button, and what else to do; else that nothing changes. */
  readonly otherwise?: string
}

const NOTHING = 'If you do not want this, close the page. Nothing changes.'

/** The page that a link in a mail opens: it says what the button does, and does nothing itself. */
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

/** What the button did. */
export const linkDonePage = ({ title, text }: { title: string; text: string }): Html => html`<h1>${title}</h1>
<p>${text}</p>
<p><a href="/">Back to the guides</a></p>`
