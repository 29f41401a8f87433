/*
 * The pages on which a person signs in for an app: the address, the code with the decision, and the way back to the app.
 * Where a sign-in stands is stored, so every tab shows the same after it is loaded again.
 */
import { randomBytes } from 'node:crypto'
import { type AgentId, appHostOf, canonicalEmail, EmailAddress, parseAppHost, RULES } from '@plainpath/domain'
import {
  addressNetworks,
  type Limiter,
  Problem,
  type RawRoute,
  readForm,
  requireSameOrigin,
  spendLimits,
} from '@plainpath/http'
import { parseMailbox } from '@plainpath/mail'
import type { ServiceUrls } from '@plainpath/metadata'
import {
  type AppOnPage,
  allowedPage,
  type Html,
  noCodesLeftPage,
  noSignInPage,
  PAGE_CSP,
  renderPage,
  SIGN_IN_TITLE,
  signInCodePage,
  signInPage,
} from '@plainpath/pages'
import { equalBytes, type HashKey } from '@plainpath/sealing'
import type { Context } from 'koa'
import { z } from 'zod'
import { type ChatHosts, clientLabel } from '../app-clients/chat-hosts.ts'
import { codeHash, generateCode, normaliseCode } from '../claims/claim-code.ts'
import { type CompletionRefusal, completeClaim } from '../claims/complete-claim.ts'
import type { AuthEvents, SignInOutcome } from '../events.ts'
import { LIMITS, SIGN_IN_ADDRESS } from '../limits.ts'
import { SIGN_IN_PATH } from '../oauth/create-provider.ts'
import type { Interactions, SignInInteraction } from '../oauth/interactions.ts'
import type { Stores } from '../stores.ts'
import { signInCodeMail } from './sign-in-code-mail.ts'
import type { StoredSignIn } from './sign-in-store.ts'

export interface SignInRouteDeps {
  readonly interactions: Interactions
  readonly stores: Pick<Stores, 'agents' | 'claimAttempts' | 'claims' | 'signIns'>
  readonly hashKey: HashKey
  readonly urls: Pick<ServiceUrls, 'origin' | 'endClaim'>
  readonly limiter: Limiter
  readonly events: AuthEvents
  readonly chatHosts: ChatHosts
  readonly now: () => Date
}

const signInPath = (uid: string) => `${SIGN_IN_PATH}/${uid}`

/** Creates the route of `/oauth/sign-in/{uid}`. Only a form of the page itself changes anything. */
export const signInRoutes = (deps: SignInRouteDeps): RawRoute[] => [
  {
    methods: ['GET', 'HEAD', 'POST'],
    path: signInPath('{uid}'),
    limits: LIMITS.pages,
    serve: (ctx) => serveSignIn(ctx, deps),
  },
]

const Step = z.enum(['email', 'code', 'resend', 'address', 'continue', 'deny']).catch('address')

/** A request for a page of an interaction that this browser began. */
interface Visit {
  readonly ctx: Context
  readonly deps: SignInRouteDeps
  readonly interaction: SignInInteraction
  readonly appHost: string
  readonly page: { readonly app: AppOnPage; readonly action: string; readonly token: string }
}

async function serveSignIn(ctx: Context, deps: SignInRouteDeps): Promise<void> {
  const isForm = ctx.method === 'POST'
  if (isForm) requireSameOrigin(ctx, true)
  const interaction = await deps.interactions.find(ctx)
  if (!interaction) return show(ctx, deps, 410, noSignInPage())
  const appHost = appHostOf(interaction.redirectUri)
  const app: AppOnPage = {
    place: parseAppHost(appHost),
    name: interaction.client.name,
    ...(interaction.client.source !== 'registered' && { clientHost: new URL(interaction.client.id).host }),
  }
  const token = formToken(deps.hashKey, interaction.uid)
  ctx.set('content-security-policy', pageCsp(interaction.redirectUri))
  const visit = { ctx, deps, interaction, appHost, page: { app, action: signInPath(interaction.uid), token } }
  const signIn = await deps.stores.signIns.find(interaction.uid, deps.now())
  if (!isForm) return showStep(visit, signIn)
  const form = await readForm(ctx, 'Send the form of the page.')
  if (!isTokenRight(form.get('token') ?? '', token)) throw new Problem('cross-site-request')
  return takeForm(visit, signIn, form)
}

async function takeForm(visit: Visit, signIn: StoredSignIn, form: URLSearchParams): Promise<void> {
  const { ctx, deps, page } = visit
  const step = Step.parse(form.get('step') ?? undefined)
  if (step === 'deny') return deny(visit, signIn)
  // The code was right, but the browser did not get back to the app: a tab of before may send anything here.
  if (signIn.at.step === 'allowed')
    return step === 'continue' && signIn.agentId ? allow(visit, signIn.agentId) : showStep(visit, signIn)
  if (step === 'email') return mailCode(visit, signIn, (form.get('email') ?? '').trim())
  if (step === 'code') return takeCode(visit, signIn, form)
  if (step === 'resend' && signIn.open) return mailCode(visit, signIn, signIn.open.email, 'resend')
  if (step === 'address' && signIn.codesLeft > 0) return show(ctx, deps, 200, signInPage(page))
  return showStep(visit, signIn)
}

/** Mails a code and leads to the page that takes it. The response is the same for every address. */
async function mailCode(
  visit: Visit,
  signIn: StoredSignIn,
  email: string,
  asked: 'first' | 'resend' = 'first',
): Promise<void> {
  const { ctx, deps, interaction, appHost, page } = visit
  const { stores, hashKey, urls, limiter, now } = deps
  const typed = EmailAddress.safeParse(email)
  const canonical = canonicalEmail(email)
  if (!typed.success || canonical === undefined)
    return show(ctx, deps, 400, signInPage({ ...page, email, mistake: mistakeIn(email) }))
  const address = String(ctx.state['address'])
  spendLimits(ctx, await limiter.takeForAddress(SIGN_IN_ADDRESS, address))
  const code = generateCode()
  const id = `cla_${randomId()}`
  const createdAt = now()
  const { uid, client, expiresAt } = interaction
  const attempt = {
    id,
    registrationId: `clm_${randomId()}`,
    email,
    canonicalEmail: canonical,
    mailbox: parseMailbox(email).mailbox,
    createdAt,
    code: {
      hash: codeHash(hashKey, 'sign-in', id, code),
      expiresAt: new Date(createdAt.getTime() + RULES.claimCodeMs),
    },
  }
  const network = addressNetworks(address).at(-1)?.network ?? ''
  const mail = signInCodeMail({ id, email, code, appHost, origin: urls.origin, network })
  const app = { clientId: client.id, host: appHost, name: client.name }
  const mailed = await stores.signIns.mailCode({ uid, app, expiresAt }, { attempt, mail }, createdAt)
  if (mailed.ok) count(visit, 'code-mailed')
  else if (mailed.error === 'no-codes-left')
    return show(ctx, deps, 410, noCodesLeftPage({ ...page, canStillType: signIn.at.step === 'code' }))
  else if (asked === 'resend') return showStep(visit, signIn, { isTooSoon: true })
  // Loading the next page again must not mail another code.
  ctx.status = 303
  ctx.set('location', page.action)
}

/** Takes the code with the decision to allow. The try is counted before the code is compared. */
async function takeCode(visit: Visit, signIn: StoredSignIn, form: URLSearchParams): Promise<void> {
  const { deps } = visit
  const { agentId, open } = signIn
  if (agentId === undefined || !open) return showStep(visit, signIn)
  const attemptId = form.get('attempt') ?? ''
  if (attemptId !== open.attemptId) return showStep(visit, signIn, { mistake: NEWER_CODE })
  const code = normaliseCode(form.get('code') ?? '')
  if (code === undefined) return showStep(visit, signIn, { mistake: NO_CODE })
  const agent = (await deps.stores.agents.find(agentId))?.agent
  if (!agent) return showStep(visit, signIn)
  const completed = await completeClaim(deps, { agent, code, attemptId, purpose: 'sign-in' })
  if (completed.ok) {
    count(visit, 'allowed')
    return deps.interactions.allow(visit.ctx, { agentId })
  }
  if (completed.error.reason === 'wrong') count(visit, 'wrong-code')
  const after = await deps.stores.signIns.find(visit.interaction.uid, deps.now())
  return showStep(visit, after, { mistake: mistakeFor(completed.error) })
}

const allow = ({ deps, ctx }: Visit, agentId: AgentId) => deps.interactions.allow(ctx, { agentId })

/** Denies: also ends what this sign-in has allowed already. It blocks no mailbox, since anybody can type in an address. */
async function deny(visit: Visit, { agentId }: StoredSignIn): Promise<void> {
  const { stores, interactions, now } = visit.deps
  if (agentId !== undefined) {
    await stores.claimAttempts.withdraw(agentId)
    const claim = await stores.claims.live(agentId, now())
    if (claim) await stores.claims.end(claim.id, 'person', now())
  }
  count(visit, 'denied')
  await interactions.deny(visit.ctx)
}

function showStep(
  { ctx, deps, page }: Visit,
  { at, open, codesLeft }: StoredSignIn,
  { mistake, isTooSoon }: { mistake?: string | undefined; isTooSoon?: boolean } = {},
): void {
  if (at.step === 'allowed') return show(ctx, deps, 200, allowedPage(page))
  if (at.step === 'no-codes-left')
    return show(ctx, deps, 410, noCodesLeftPage({ ...page, canStillType: false }))
  if (at.step === 'address' || !open) {
    const lastCode = at.step === 'address' ? at.lastCode : undefined
    return show(ctx, deps, 200, signInPage({ ...page, ...(lastCode && { lastCode }) }))
  }
  const body = signInCodePage({
    ...page,
    email: open.email,
    attempt: open.attemptId,
    codesLeft,
    mistake,
    ...(isTooSoon && { isTooSoon }),
  })
  return show(ctx, deps, mistake === undefined ? 200 : 400, body)
}

function show(ctx: Context, { urls }: SignInRouteDeps, status: 200 | 400 | 410, body: Html): void {
  // 400 is for what the person typed, and the first word that a screen reader says is then what is wrong.
  const title = status === 400 ? `Mistake: ${SIGN_IN_TITLE.toLowerCase()}` : SIGN_IN_TITLE
  // The path that the page is told is without the uid.
  ctx.body = renderPage({ origin: urls.origin, path: SIGN_IN_PATH, title, body, noindex: true })
  ctx.status = status
  ctx.type = 'text/html; charset=utf-8'
}

const count = ({ deps, interaction }: Visit, outcome: SignInOutcome) =>
  deps.events.emit('sign-in', { host: clientLabel([interaction.redirectUri], deps.chatHosts), outcome })

const randomId = () => randomBytes(16).toString('base64url')

const formToken = (hashKey: HashKey, uid: string): string =>
  hashKey.hash('sign-in-form', uid).toString('base64url')

const isTokenRight = (sent: string, token: string) => equalBytes(Buffer.from(sent), Buffer.from(token))

/**
 * Lets the form lead back to the app: Chromium applies `form-action` to every redirect after a form, also to those that
 * follow at the app's own sites. The redirect URI itself was accepted before.
 */
export function pageCsp(redirectUri: string): string {
  const { protocol, host, hostname } = new URL(redirectUri)
  const app =
    protocol === 'https:'
      ? []
      : [protocol === 'http:' && !hostname.startsWith('[') ? `http://${host}` : protocol]
  return PAGE_CSP.replace("form-action 'self'", ["form-action 'self' https:", ...app].join(' '))
}

const mistakeIn = (email: string) =>
  email === ''
    ? 'Type your e-mail address, such as ana@example.org.'
    : 'This is not an e-mail address. Type one such as ana@example.org.'

const NO_CODE = 'Type the six digits of the code in our e-mail.'
const NEWER_CODE = 'You asked for a newer code. Type the code of our newest e-mail.'

function mistakeFor(refusal: CompletionRefusal): string | undefined {
  if (refusal.reason === 'wrong')
    return `This is not the code in our newest e-mail. ${refusal.remaining === 1 ? 'You have one try left.' : `You have ${refusal.remaining} tries left.`}`
  return refusal.reason === 'superseded' ? NEWER_CODE : undefined
}
