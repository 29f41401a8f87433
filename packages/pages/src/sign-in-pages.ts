/*
 * The pages on which a person signs in and allows an app. They work without scripts, and say the same for every address.
 */
import { type AppPlace, durationIn, numberInWords, RULES } from '@plainpath/domain'
import { shownName } from './agent-names.ts'
import { placeName } from './app-names.ts'
import { mistakeAt, mistakeSummary } from './form-pages.ts'
import { type Html, html } from './html.ts'

const LASTS = durationIn('day', RULES.claimMs)
/** The pause between two codes. */
const RESEND = durationIn('minute', RULES.signInResendMs)
const CODE_LASTS = durationIn('minute', RULES.claimCodeMs)
const EMAIL = html`<span class="form-name">e-mail</span>`

/** What the window and the history say, of every page here: not that somebody gives access to something. */
export const SIGN_IN_TITLE = 'Sign in'

/** The app that asks for access. */
export interface AppOnPage {
  /** Where the authorization response goes. */
  readonly place: AppPlace
  /** The app's own word; nobody checked it. */
  readonly name?: string | undefined
  /** The host of the document that describes the app; absent for an app that registered. */
  readonly clientHost?: string | undefined
}

interface SignInForm {
  /** Where the form goes: the page itself. */
  readonly action: string
  /** Shows that the form is from this page, for this interaction. */
  readonly token: string
}

const startForm = ({ action, token }: SignInForm, inside: Html): Html =>
  html`<form class="form" action="${action}" method="post" autocomplete="off" novalidate>
<input name="token" type="hidden" value="${token}">
${inside}
</form>`

/** Where the result goes, in large type, and what is known of the app there. */
const whoAsks = ({ place, name, clientHost }: AppOnPage) => html`<p>What you allow goes to:</p>
<p class="destination" id="destination"><bdi>${placeName(place)}</bdi></p>
${
  name === undefined
    ? html`<p>The app gave us no name.</p>`
    : html`<p>The app calls itself <strong><bdi>“${shownName(name)}”</bdi></strong>. The app gave us that name. We did not check it.</p>`
}
${clientHost !== undefined && !isAt(place, clientHost) && html`<p>It says that it is an app of <strong>${clientHost}</strong>.${place.kind !== 'site' && ' On your own device, we cannot check that.'}</p>`}
${place.kind !== 'site' && html`<p class="notice">We cannot see which program on your device asks. Any program there could. Go on only if you started this yourself, in a program that you trust.</p>`}`

const isAt = (place: AppPlace, host: string) => place.kind === 'site' && place.host === host

/** Refers to the app in the one sentence that matters most. It never has the app's own name, which can be anything. */
const justConnected = ({ place }: AppOnPage) =>
  place.kind === 'site'
    ? html`<strong>Only continue if you yourself just connected an app at ${place.host}.</strong>`
    : html`<strong>Only continue if you yourself just connected ${placeName(place)}.</strong>`

export interface AddressPage extends SignInForm {
  readonly app: AppOnPage
  /** What was typed. */
  readonly email?: string
  readonly mistake?: string | undefined
  /** Set when the code that was mailed before is no longer good: why. */
  readonly lastCode?: 'expired' | 'locked' | undefined
}

const LAST_CODE = {
  expired: 'The last code no longer works. Type your address again to get a new one.',
  locked: `Too many wrong codes. The last code no longer works. Type your address again to get a new one. If you typed the right code, try again tomorrow.`,
} as const

/** Asks for the address. It says all that matters for the decision, which is made on the next page. */
export const signInPage = ({ app, email = '', mistake, lastCode, ...form }: AddressPage): Html =>
  html`${mistakeSummary({ email: mistake })}
<h1>Do you want to connect this app?</h1>
${lastCode !== undefined && html`<p class="notice" role="status">${LAST_CODE[lastCode]}</p>`}
${whoAsks(app)}
<p>${justConnected(app)} If a person, an e-mail or a chat message sent you here, press Deny.</p>
<h2>What the app may do</h2>
<ul>
<li>Send our staff messages for you. We answer you by ${EMAIL}.</li>
<li>See and take back the messages that it sent.</li>
</ul>
<p>It may do this for ${LASTS}. You can end it at any time: each ${EMAIL} that we send you about the app has a link for that.</p>
<h2>What it may not do</h2>
<p>It cannot read your ${EMAIL}s or our answers to you. It does not learn your address from us. It cannot see what other apps or agents sent.</p>
<h2>Sign in with your e-mail address</h2>
${startForm(
  form,
  html`<label for="email">Your ${EMAIL} address</label>
${mistakeAt('email', mistake)}
${
  mistake === undefined
    ? html`<input id="email" name="email" type="email" autocomplete="email" autocapitalize="none" spellcheck="false" value="${email}">`
    : html`<input id="email" name="email" type="email" autocomplete="email" autocapitalize="none" spellcheck="false" value="${email}" aria-invalid="true" aria-describedby="email-mistake">`
}
<p><strong>What happens next:</strong> if you continue, we send you a code. The app gets access only after you type the code and press Allow. If you deny, it gets nothing. <a href="/privacy">What we keep</a></p>
<button type="submit" name="step" value="email">Continue</button>
<button type="submit" name="step" value="deny">Deny</button>`,
)}`

export interface CodePage extends SignInForm {
  readonly app: AppOnPage
  /** The address that was typed, which this browser typed itself. */
  readonly email: string
  /** The attempt that the code is for. */
  readonly attempt: string
  readonly codesLeft: number
  readonly mistake?: string | undefined
  /** Set when another code was asked for within a minute. */
  readonly isTooSoon?: boolean
}

/** Asks for the code, and for the decision. */
export const signInCodePage = ({
  app,
  email,
  attempt,
  codesLeft,
  mistake,
  isTooSoon,
  ...form
}: CodePage): Html =>
  html`${mistakeSummary({ code: mistake })}
<h1>Type the code, and decide</h1>
${isTooSoon && html`<p class="notice" role="status">We sent you a code less than ${RESEND} ago. Wait ${RESEND} before you ask for another one.</p>`}
<p>We send an ${EMAIL} with a code to <strong><bdi>${email}</bdi></strong>. Type the code only here. Never type it into a chat, and give it to nobody.</p>
${whoAsks(app)}
<p>${justConnected(app)}</p>
${startForm(
  form,
  html`<input name="attempt" type="hidden" value="${attempt}">
<label for="code">The code</label>
<p class="facts" id="code-hint">It has ${numberInWords(RULES.claimCodeDigits)} digits, and works for ${CODE_LASTS}. Only the newest code works.</p>
${mistakeAt('code', mistake)}
${
  mistake === undefined
    ? html`<input id="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" aria-describedby="code-hint">`
    : html`<input id="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" aria-invalid="true" aria-describedby="code-mistake code-hint">`
}
<p><strong>What happens next:</strong> if you allow it, the app can send our staff messages for you for ${LASTS}, and see and take back what it sent. We confirm it by ${EMAIL}, with a link that ends it. If you deny, it gets nothing.</p>
<button type="submit" name="step" value="code">Allow</button>
<button type="submit" name="step" value="deny">Deny</button>`,
)}
<h2>If no code comes</h2>
<p>Look in the spam folder. We send at most ${numberInWords(RULES.mailsToMailbox)} ${EMAIL}s a day to one address.</p>
${startForm(
  form,
  html`${
    codesLeft > 0
      ? html`<button class="second" type="submit" name="step" value="resend">Send another code</button>
<button class="second" type="submit" name="step" value="address">Use another address</button>
${codesLeft === 1 && html`<p class="facts">This is the last code that we can send for this sign-in.</p>`}`
      : html`<p class="facts">We have sent ${numberInWords(RULES.signInCodes)} codes, and cannot send more for this sign-in. To start again, deny, and connect the app again.</p>`
  }`,
)}`

/** After the last code: there is nothing to do but to start again from the app. @param page.canStillType the last code still works */
export const noCodesLeftPage = ({ canStillType, ...form }: SignInForm & { canStillType: boolean }): Html =>
  html`<h1>We cannot send more codes</h1>
<p>We have sent ${numberInWords(RULES.signInCodes)} codes for this sign-in.${canStillType && html` The last one still works: <a href="${form.action}">type the last code</a>.`}</p>
<p>To start again, go back to the app and connect it again. If the codes that you typed were right, try again tomorrow.</p>
${startForm(
  form,
  html`<p><strong>What happens next:</strong> the app gets nothing, and you go back to it.</p>
<button type="submit" name="step" value="deny">Back to the app</button>`,
)}`

/** Shown when the person has allowed the app, and the browser did not get back to it. */
export const allowedPage = ({ app, ...form }: SignInForm & { app: AppOnPage }): Html =>
  html`<h1>You have allowed this app</h1>
${whoAsks(app)}
${startForm(
  form,
  html`<p><strong>What happens next:</strong> if you continue, you go back to the app, which gets its access. If you deny, what you allowed ends.</p>
<button type="submit" name="step" value="continue">Continue</button>
<button type="submit" name="step" value="deny">Deny</button>`,
)}`

/** For an interaction that is over, unknown, or of another browser: nobody learns which. */
export const noSignInPage = (): Html => html`<h1>This page no longer works</h1>
<p>If you have just allowed or denied an app, you are done. Go back to the app.</p>
<p>If not, too much time has passed, or you began in another browser. Go back to the app, and connect it again.</p>
<p>To end what you have allowed, open the link in the mail that we sent you.</p>
<p><a href="/">To the guides</a></p>`
