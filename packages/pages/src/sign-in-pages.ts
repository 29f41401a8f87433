/*
 * The pages where a person signs in and allows an app. They work without scripts, and say the same for every address.
 */
import { type AppDestination, durationIn, numberInWords, RULES } from '@plainpath/domain'
import { cleanAgentName } from './agent-names.ts'
import { formatAppDestination } from './app-names.ts'
import { renderMistake, renderMistakeSummary } from './form-pages.ts'
import { type Html, html } from './html.ts'

const ACCESS_LIFETIME = durationIn('day', RULES.verificationMs)
/** The minimum time between two codes of one sign-in. */
const RESEND_PAUSE = durationIn('minute', RULES.signInResendMs)
const CODE_LIFETIME = durationIn('minute', RULES.verificationCodeMs)
const EMAIL = html`<span class="form-name">e-mail</span>`

/** The neutral title of all these pages. The window and the history must not reveal that somebody gives access. */
export const SIGN_IN_TITLE = 'Sign in'

/** The app that requests access. */
export interface AppOnPage {
  /** The destination of the authorization response. */
  readonly destination: AppDestination
  /** The name that the app gave itself. It is unverified. */
  readonly name?: string | undefined
  /** The host of the document that describes the app; absent for an app that registered. */
  readonly clientHost?: string | undefined
}

interface SignInForm {
  /** The page's own address, to which the form is sent. */
  readonly action: string
  /** Proves that the form comes from this page and belongs to this interaction. */
  readonly token: string
}

const renderForm = ({ action, token }: SignInForm, fields: Html): Html =>
  html`<form class="form" action="${action}" method="post" autocomplete="off" novalidate>
<input name="token" type="hidden" value="${token}">
${fields}
</form>`

/** Renders what we know about the app. It begins with the destination of the access, in large type. */
const renderAppDetails = ({
  destination,
  name,
  clientHost,
}: AppOnPage) => html`<p>If you allow it, the access goes to:</p>
<p class="destination" id="destination"><bdi>${formatAppDestination(destination)}</bdi></p>
${
  name === undefined
    ? html`<p>The app gave us no name.</p>`
    : html`<p>The app calls itself <strong><bdi>“${cleanAgentName(name)}”</bdi></strong>. The app gave us that name. We did not check it.</p>`
}
${clientHost !== undefined && !isAppHost(destination, clientHost) && html`<p>It says that it is an app of <strong>${clientHost}</strong>.${destination.kind !== 'site' && ' On your own device, we cannot check that.'}</p>`}
${destination.kind !== 'site' && html`<p class="notice">We cannot see which program on your device asks. Any program there could. Go on only if you started this yourself, in a program that you trust.</p>`}`

const isAppHost = (destination: AppDestination, host: string) =>
  destination.kind === 'site' && destination.host === host

/** Renders the most important warning. It never contains the app's own name, which can be anything. */
const renderContinueWarning = ({ destination }: AppOnPage) =>
  destination.kind === 'site'
    ? html`<strong>Only continue if you yourself just connected an app at ${destination.host}.</strong>`
    : html`<strong>Only continue if you yourself just connected ${formatAppDestination(destination)}.</strong>`

export interface AddressPage extends SignInForm {
  readonly app: AppOnPage
  /** The person's input. */
  readonly email?: string
  /** A sentence that says what is wrong with the address. */
  readonly mistake?: string | undefined
  /** The state of the previous code, if it no longer works. */
  readonly lastCodeState?: 'expired' | 'locked' | undefined
}

/**
 * The right code may be refused too: after too many wrong codes for a mailbox within a day, at sign-ins with any app, every code
 * counts as wrong. Therefore, the text also advises to try again tomorrow.
 */
const LAST_CODE_NOTICES = {
  expired: 'The last code no longer works. Type your address again to get a new one.',
  locked: `Too many wrong codes. The last code no longer works. Type your address again to get a new one. If you typed the right code, try again tomorrow.`,
} as const

/** Renders the page that asks for the address. It already has all the facts for the decision on the next page. */
export const renderSignInPage = ({ app, email = '', mistake, lastCodeState, ...form }: AddressPage): Html =>
  html`${renderMistakeSummary({ email: mistake })}
<h1>Do you want to connect this app?</h1>
${lastCodeState !== undefined && html`<p class="notice" role="status">${LAST_CODE_NOTICES[lastCodeState]}</p>`}
${renderAppDetails(app)}
<p>${renderContinueWarning(app)} If a person, an e-mail or a chat message sent you here, press Deny below, or close this page.</p>
<h2>What the app may do</h2>
<ul>
<li>Send our staff messages for you. We answer you by ${EMAIL}.</li>
<li>See and take back the messages that it sent.</li>
</ul>
<p>It may do this for ${ACCESS_LIFETIME}. You can end it at any time: the ${EMAIL} that confirms it has a link for that, and so has the ${EMAIL} about each message.</p>
<h2>What it may not do</h2>
<p>It cannot read your ${EMAIL}s or our answers to you. It does not learn your address from us. It cannot see what other apps or agents sent.</p>
<h2>Sign in with your e-mail address</h2>
${renderForm(
  form,
  html`<label for="email">Your ${EMAIL} address</label>
${renderMistake('email', mistake)}
${
  mistake === undefined
    ? html`<input id="email" name="email" type="email" autocomplete="email" autocapitalize="none" spellcheck="false" value="${email}">`
    : html`<input id="email" name="email" type="email" autocomplete="email" autocapitalize="none" spellcheck="false" value="${email}" aria-invalid="true" aria-describedby="email-mistake">`
}
<p><strong>What happens next:</strong> if you continue, we send you a sign-in code. The app gets access only after you type the code and press Allow. If you deny, it gets nothing. <a href="/privacy">What we keep</a></p>
<button type="submit" name="step" value="email">Continue</button>
<button type="submit" name="step" value="deny">Deny</button>`,
)}`

export interface CodePage extends SignInForm {
  readonly app: AppOnPage
  /** The address that the person typed in this browser. */
  readonly email: string
  /** The id of the sign-in attempt to which the code belongs. */
  readonly attempt: string
  /** How many more codes can be mailed for this sign-in. */
  readonly codesLeft: number
  /** A sentence that says why the submitted code was not accepted. */
  readonly mistake?: string | undefined
  /** True if the person asked for another code too soon after the last one. */
  readonly isTooSoon?: boolean
}

/** Renders the page that asks for the code and the decision. */
export const renderSignInCodePage = ({
  app,
  email,
  attempt,
  codesLeft,
  mistake,
  isTooSoon,
  ...form
}: CodePage): Html =>
  html`${renderMistakeSummary({ code: mistake })}
<h1>Type the sign-in code, then press Allow or Deny</h1>
${isTooSoon && html`<p class="notice" role="status">We sent you a code less than ${RESEND_PAUSE} ago. Wait ${RESEND_PAUSE} before you ask for another one.</p>`}
<p>We are sending an ${EMAIL} with a sign-in code to <strong><bdi>${email}</bdi></strong>. Type the code only here. Never type it into a chat, and do not give it to anyone.</p>
<p>${renderContinueWarning(app)} If not, press Deny.</p>
${renderForm(
  form,
  html`<input name="attempt" type="hidden" value="${attempt}">
<label for="code">Sign-in code</label>
<p class="facts" id="code-hint">It has ${numberInWords(RULES.verificationCodeDigits)} digits, and works for ${CODE_LIFETIME}. Only the newest code works.</p>
${renderMistake('code', mistake)}
${
  mistake === undefined
    ? html`<input id="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" aria-describedby="code-hint">`
    : html`<input id="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" aria-invalid="true" aria-describedby="code-mistake code-hint">`
}
${renderAppDetails(app)}
<p><strong>What happens next:</strong> if you allow it, the app can send our staff messages for you for ${ACCESS_LIFETIME}, and see and take back what it sent. We confirm it by ${EMAIL}, with a link that ends it. If you deny, it gets nothing.</p>
<button type="submit" name="step" value="code">Allow</button>
<button type="submit" name="step" value="deny">Deny</button>`,
)}
<h2>If no code comes</h2>
<p>Look in the spam folder. From one internet connection, you can get at most ${numberInWords(RULES.mailsToMailbox)} codes a day at one address, and from all connections together at most ${numberInWords(RULES.requestedMailsToMailbox)}. If these are used up, use another connection, such as mobile data, or try again tomorrow.</p>
${renderForm(
  form,
  html`${
    codesLeft > 0
      ? html`<button class="second" type="submit" name="step" value="resend">Send another code</button>
<button class="second" type="submit" name="step" value="address">Use another address</button>
${codesLeft === 1 && html`<p class="facts">This is the last code that we can send for this sign-in.</p>`}`
      : html`<p class="facts">We have sent ${numberInWords(RULES.signInCodes)} codes, and cannot send more for this sign-in. To start again, deny, and connect the app again.</p>`
  }`,
)}`

/**
 * Renders the page of a sign-in for which we have sent the maximum number of codes. For another code, the person must start
 * again in the app.
 *
 * @param page.canStillType true if the last code still works
 */
export const renderNoCodesLeftPage = ({
  canStillType,
  ...form
}: SignInForm & { canStillType: boolean }): Html =>
  html`<h1>We cannot send more codes</h1>
<p>We have sent ${numberInWords(RULES.signInCodes)} codes for this sign-in.${canStillType && html` The last one still works: <a href="${form.action}">type the last code</a>.`}</p>
<p>To start again, go back to the app and connect it again. If the codes that you typed were right, try again tomorrow.</p>
${renderForm(
  form,
  html`<p><strong>What happens next:</strong> the app gets nothing, and you go back to it.</p>
<button type="submit" name="step" value="deny">Back to the app</button>`,
)}`

/** Renders the page for a person who has allowed the app, but whose browser has not returned to the app. */
export const renderAllowedPage = ({ app, ...form }: SignInForm & { app: AppOnPage }): Html =>
  html`<h1>You have allowed this app</h1>
${renderAppDetails(app)}
${renderForm(
  form,
  html`<p><strong>What happens next:</strong> if you continue, you go back to the app, which gets its access. If you deny, what you allowed ends.</p>
<button type="submit" name="step" value="continue">Continue</button>
<button type="submit" name="step" value="deny">Deny</button>`,
)}`

/** Renders the page for an interaction that has ended, is unknown, or belongs to another browser. It does not reveal which. */
export const renderNoSignInPage = (): Html => html`<h1>This page no longer works</h1>
<p>If you have just allowed or denied an app, you are done. Go back to the app.</p>
<p>If not, too much time has passed, or you began in another browser. Go back to the app, and connect it again.</p>
<p>To end what you have allowed, open the link in the ${EMAIL} that we sent you. If you do not have it, <a href="/contact">write to us</a>.</p>
<p><a href="/">To the home page</a></p>`
