/*
 * The pages on which a person signs in to connect an app: one for the address, one for the code and the decision, one
 * that leads back to the app, and two with status 410, when no sign-in is found or no more codes can be sent. The state
 * of a sign-in is stored, so every tab shows the same page after a reload.
 */
import { randomBytes } from 'node:crypto'
import {
  type AgentId,
  canonicalizeEmail,
  EmailAddress,
  formatAppHost,
  parseAppHost,
  RULES,
} from '@plainpath/domain'
import {
  enforceLimits,
  type Limiter,
  listNetworks,
  Problem,
  type RawRoute,
  readForm,
  requireSameOrigin,
} from '@plainpath/http'
import { parseMailbox } from '@plainpath/mail'
import type { ServiceUrls } from '@plainpath/metadata'
import {
  type AppOnPage,
  type Html,
  PAGE_CSP,
  renderAllowedPage,
  renderNoCodesLeftPage,
  renderNoSignInPage,
  renderPage,
  renderSignInCodePage,
  renderSignInPage,
  SIGN_IN_TITLE,
} from '@plainpath/pages'
import { type HashKey, timingSafeEqualBytes } from '@plainpath/sealing'
import type { Context } from 'koa'
import { z } from 'zod'
import { type ChatHosts, findClientLabel } from '../app-clients/chat-hosts.ts'
import type { AuthEvents, SignInOutcome } from '../events.ts'
import { LIMITS, SIGN_IN_ADDRESS_LIMIT } from '../limits.ts'
import { SIGN_IN_PATH } from '../oauth/create-provider.ts'
import type { Interactions, SignInInteraction } from '../oauth/interactions.ts'
import type { Stores } from '../stores.ts'
import { type CompletionRefusal, completeVerification } from '../verifications/complete-verification.ts'
import { generateCode, hashCode, normaliseCode } from '../verifications/verification-code.ts'
import { composeSignInCodeMail } from './sign-in-code-mail.ts'
import type { StoredSignIn } from './sign-in-store.ts'

export interface SignInRouteDeps {
  readonly interactions: Interactions
  readonly stores: Pick<Stores, 'agents' | 'verificationAttempts' | 'verifications' | 'signIns'>
  readonly hashKey: HashKey
  readonly urls: Pick<ServiceUrls, 'origin' | 'endClaim'>
  readonly limiter: Limiter
  readonly events: AuthEvents
  readonly chatHosts: ChatHosts
  readonly now: () => Date
}

const toSignInPath = (uid: string) => `${SIGN_IN_PATH}/${uid}`

/** Creates the routes of `/oauth/sign-in/{uid}`. Only a POST with the form token of our own page changes state. */
export const createSignInRoutes = (deps: SignInRouteDeps): RawRoute[] => [
  {
    methods: ['GET', 'HEAD', 'POST'],
    path: toSignInPath('{uid}'),
    limits: LIMITS.pages,
    serve: (ctx) => serveSignIn(ctx, deps),
  },
]

/** The step that a form submits. An unknown step counts as `address`, which changes nothing and only shows a page. */
const FormStep = z.enum(['email', 'code', 'resend', 'address', 'continue', 'deny']).catch('address')

/** A request for a page of this browser's interaction. `appHost`: where its redirect URI leads, from `formatAppHost`. */
interface Visit {
  readonly ctx: Context
  readonly deps: SignInRouteDeps
  readonly interaction: SignInInteraction
  readonly appHost: string
  readonly pageProps: { readonly app: AppOnPage; readonly action: string; readonly token: string }
}

async function serveSignIn(ctx: Context, deps: SignInRouteDeps): Promise<void> {
  const isForm = ctx.method === 'POST'
  if (isForm) requireSameOrigin(ctx, { acceptNullOrigin: true })
  const interaction = await deps.interactions.find(ctx)
  if (!interaction) return renderResponse(ctx, deps, 410, renderNoSignInPage())
  const appHost = formatAppHost(interaction.redirectUri)
  const appOnPage: AppOnPage = {
    destination: parseAppHost(appHost),
    name: interaction.client.name,
    ...(interaction.client.source !== 'registered' && { clientHost: new URL(interaction.client.id).host }),
  }
  const token = createFormToken(deps.hashKey, interaction.uid)
  ctx.set('content-security-policy', buildPageCsp(interaction.redirectUri))
  const visit = {
    ctx,
    deps,
    interaction,
    appHost,
    pageProps: { app: appOnPage, action: toSignInPath(interaction.uid), token },
  }
  const signIn = await deps.stores.signIns.find(interaction.uid, deps.now())
  if (!isForm) return showStep(visit, signIn)
  const form = await readForm(ctx, 'Submit the form on the page.')
  if (!isSameToken(form.get('token') ?? '', token)) throw new Problem('cross-site-request')
  return handleForm(visit, signIn, form)
}

async function handleForm(visit: Visit, signIn: StoredSignIn, form: URLSearchParams): Promise<void> {
  const { ctx, deps, pageProps } = visit
  const step = FormStep.parse(form.get('step') ?? undefined)
  if (step === 'deny') return denyConnection(visit, signIn)
  // The person has allowed the connection, but the browser has not returned to the app. A stale tab may submit any form,
  // so only `continue` and `deny` have an effect.
  if (signIn.currentStep.step === 'allowed')
    return step === 'continue' && signIn.agentId
      ? allowConnection(visit, signIn.agentId)
      : showStep(visit, signIn)
  if (step === 'email') return mailCode(visit, signIn, (form.get('email') ?? '').trim())
  if (step === 'code') return handleCode(visit, signIn, form)
  if (step === 'resend' && signIn.openAttempt)
    return mailCode(visit, signIn, signIn.openAttempt.email, { isResend: true })
  if (step === 'address' && signIn.codesLeft > 0)
    return renderResponse(ctx, deps, 200, renderSignInPage(pageProps))
  return showStep(visit, signIn)
}

/** Mails a code and redirects to the page for entering it. The response does not show whether the address is known. */
async function mailCode(
  visit: Visit,
  signIn: StoredSignIn,
  email: string,
  { isResend = false }: { readonly isResend?: boolean } = {},
): Promise<void> {
  const { ctx, deps, interaction, appHost, pageProps } = visit
  const { stores, hashKey, urls, limiter, now } = deps
  const parsedEmail = EmailAddress.safeParse(email)
  const canonical = canonicalizeEmail(email)
  if (!parsedEmail.success || canonical === undefined)
    return renderResponse(
      ctx,
      deps,
      400,
      renderSignInPage({ ...pageProps, email, mistake: describeAddressMistake(email) }),
    )
  const ipAddress = String(ctx.state['address'])
  enforceLimits(ctx, await limiter.takeForAddress(SIGN_IN_ADDRESS_LIMIT, ipAddress))
  const code = generateCode()
  const id = `cla_${generateRandomId()}`
  const createdAt = now()
  const { uid, client, expiresAt } = interaction
  const attempt = {
    id,
    registrationId: `clm_${generateRandomId()}`,
    email,
    canonicalEmail: canonical,
    mailbox: parseMailbox(email).mailbox,
    createdAt,
    code: {
      hash: hashCode(hashKey, 'sign-in', id, code),
      expiresAt: new Date(createdAt.getTime() + RULES.verificationCodeMs),
    },
  }
  // The widest network: `/48` for IPv6.
  const network = listNetworks(ipAddress).at(-1)?.network ?? ''
  const mail = composeSignInCodeMail({ id, email, code, appHost, origin: urls.origin, network })
  const app = { clientId: client.id, host: appHost, name: client.name }
  const mailResult = await stores.signIns.mailCode({ uid, app, expiresAt }, { attempt, mail }, createdAt)
  if (mailResult.ok) emitOutcome(visit, 'code-mailed')
  else if (mailResult.error === 'no-codes-left')
    return renderResponse(
      ctx,
      deps,
      410,
      renderNoCodesLeftPage({ ...pageProps, canStillType: signIn.currentStep.step === 'code' }),
    )
  else if (mailResult.error === 'ended') return renderResponse(ctx, deps, 410, renderNoSignInPage())
  else if (isResend) return showStep(visit, signIn, { isTooSoon: true })
  // If it is too soon for another code, the code mailed before is still valid, so the page for entering it is shown too.
  // The response is a redirect, so that reloading the page does not mail another code.
  ctx.status = 303
  ctx.set('location', pageProps.action)
}

/** Handles the form with the code. A correct code allows the connection. The try is counted before the code is compared. */
async function handleCode(visit: Visit, signIn: StoredSignIn, form: URLSearchParams): Promise<void> {
  const { deps } = visit
  const { agentId, openAttempt } = signIn
  if (agentId === undefined || !openAttempt) return showStep(visit, signIn)
  const attemptId = form.get('attempt') ?? ''
  if (attemptId !== openAttempt.attemptId) return showStep(visit, signIn, { mistake: NEWER_CODE_MESSAGE })
  const code = normaliseCode(form.get('code') ?? '')
  if (code === undefined) return showStep(visit, signIn, { mistake: NO_CODE_MESSAGE })
  const agent = (await deps.stores.agents.find(agentId))?.agent
  if (!agent) return showStep(visit, signIn)
  const completed = await completeVerification(deps, { agent, code, attemptId, purpose: 'sign-in' })
  if (completed.ok) {
    emitOutcome(visit, 'allowed')
    return deps.interactions.allow(visit.ctx, { agentId })
  }
  if (completed.error.reason === 'wrong') emitOutcome(visit, 'wrong-code')
  const newState = await deps.stores.signIns.find(visit.interaction.uid, deps.now())
  return showStep(visit, newState, { mistake: describeCodeMistake(completed.error) })
}

const allowConnection = ({ deps, ctx }: Visit, agentId: AgentId) => deps.interactions.allow(ctx, { agentId })

/**
 * Denies the connection. If the sign-in was already allowed, also revokes the connection's access, and does so again if the
 * request is a retry after a 503. Blocks no mailbox, since anybody can type any address.
 */
async function denyConnection(visit: Visit, { agentId }: StoredSignIn): Promise<void> {
  const { stores, interactions, now } = visit.deps
  if (agentId !== undefined) {
    await stores.verificationAttempts.withdraw(agentId)
    const verification = await stores.verifications.findNewest(agentId)
    if (verification) await stores.verifications.revoke(verification.id, 'person', now())
  }
  emitOutcome(visit, 'denied')
  await interactions.deny(visit.ctx)
}

function showStep(
  { ctx, deps, pageProps }: Visit,
  { currentStep, openAttempt, codesLeft }: StoredSignIn,
  { mistake, isTooSoon }: { mistake?: string | undefined; isTooSoon?: boolean } = {},
): void {
  if (currentStep.step === 'allowed') return renderResponse(ctx, deps, 200, renderAllowedPage(pageProps))
  if (currentStep.step === 'no-codes-left')
    return renderResponse(ctx, deps, 410, renderNoCodesLeftPage({ ...pageProps, canStillType: false }))
  if (currentStep.step === 'address' || !openAttempt) {
    const lastCodeState = currentStep.step === 'address' ? currentStep.lastCodeState : undefined
    return renderResponse(ctx, deps, 200, renderSignInPage({ ...pageProps, lastCodeState }))
  }
  const body = renderSignInCodePage({
    ...pageProps,
    email: openAttempt.email,
    attempt: openAttempt.attemptId,
    codesLeft,
    mistake,
    ...(isTooSoon && { isTooSoon }),
  })
  return renderResponse(ctx, deps, mistake === undefined ? 200 : 400, body)
}

function renderResponse(ctx: Context, { urls }: SignInRouteDeps, status: 200 | 400 | 410, body: Html): void {
  // A 400 asks the person to correct an entry. The title says so first, since a screen reader begins with the title.
  const title = status === 400 ? `Error: ${SIGN_IN_TITLE}` : SIGN_IN_TITLE
  // `path` omits the uid, which identifies one person's sign-in. A `noindex` page has no canonical URL anyway.
  ctx.body = renderPage({ origin: urls.origin, path: SIGN_IN_PATH, title, body, noindex: true })
  ctx.status = status
  ctx.type = 'text/html; charset=utf-8'
}

const emitOutcome = ({ deps, interaction }: Visit, outcome: SignInOutcome) =>
  deps.events.emit('sign-in', { host: findClientLabel([interaction.redirectUri], deps.chatHosts), outcome })

const generateRandomId = () => randomBytes(16).toString('base64url')

const createFormToken = (hashKey: HashKey, uid: string): string =>
  hashKey.hash('sign-in-form', uid).toString('base64url')

const isSameToken = (sentToken: string, token: string) =>
  timingSafeEqualBytes(Buffer.from(sentToken), Buffer.from(token))

/**
 * Builds the content security policy of the page. Its form can lead back to the app: Chromium applies `form-action` to
 * every redirect after a form, including redirects between the sites of the app, so `form-action` allows every https
 * origin, and the scheme or loopback host of the redirect URI. The caller has already accepted the redirect URI.
 */
export function buildPageCsp(redirectUri: string): string {
  const sources = ["'self'", 'https:']
  const { protocol, host, hostname } = new URL(redirectUri)
  // A policy cannot name an IPv6 address, so for one it allows the scheme.
  if (protocol === 'http:' && !hostname.startsWith('[')) sources.push(`http://${host}`)
  else if (protocol !== 'https:') sources.push(protocol)
  return PAGE_CSP.replace("form-action 'self'", `form-action ${sources.join(' ')}`)
}

const describeAddressMistake = (email: string) =>
  email === ''
    ? 'Type your e-mail address, such as ana@example.org.'
    : 'This is not an e-mail address. Type one such as ana@example.org.'

const NO_CODE_MESSAGE = 'Type the six digits of the code in our e-mail.'
const NEWER_CODE_MESSAGE = 'You asked for a newer code. Type the code from our latest e-mail.'

/** Returns undefined if the page itself explains the refusal, for example a locked code. */
function describeCodeMistake(refusal: CompletionRefusal): string | undefined {
  if (refusal.reason === 'wrong') {
    const triesLeft = refusal.remaining === 1 ? 'one try left' : `${refusal.remaining} tries left`
    return `This is not the code from our latest e-mail. You have ${triesLeft}.`
  }
  return refusal.reason === 'superseded' ? NEWER_CODE_MESSAGE : undefined
}
