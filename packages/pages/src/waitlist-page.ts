import { numberInWords, RULES } from '@plainpath/domain'
import { type Html, html } from './html.ts'

export interface WaitlistForm {
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
${mistake !== undefined && html`<p class="mistake" id="email-mistake"><strong>Mistake:</strong> ${mistake}</p>`}
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
  return html`${form.mistake !== undefined && summaryOf(form.mistake)}
<h1>Join the waitlist</h1>
<p>${ABOUT}</p>
${waitlistForm(form)}`
}

/** `autofocus` moves a reader, and a screen reader, here without a script. */
const summaryOf = (mistake: string) => html`<div class="summary" role="alert" tabindex="-1" autofocus>
<h2>There is a mistake</h2>
<p><a href="#email">${mistake}</a></p>
</div>`

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
