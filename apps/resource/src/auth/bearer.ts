/*
 * Checks a request's access token and, for a token that is bound to a key, its DPoP proof. `bearer-refusals.ts` creates the
 * responses to refused tokens, and `verified-person.ts` finds the person for whom a token was issued.
 */
import type { IncomingMessage } from 'node:http'
import {
  type Caller,
  createRateLimitedProblem,
  findHeaders,
  type WatchedClock,
  withSynchronisedClock,
} from '@plainpath/http'
import { getAudienceForPath, type ServiceUrls } from '@plainpath/metadata'
import type { Context } from 'koa'
import { type BearerRefusals, createBearerRefusals, NEEDS_DPOP, TOKEN_UNKNOWN } from './bearer-refusals.ts'
import { createProofVerifier, readProof, type UnverifiedProof } from './dpop-proof.ts'
import { IntrospectionLimited } from './guard-introspection.ts'
import { type ActiveIntrospection, findIntrospectionFault, type IntrospectFor } from './introspection.ts'
import { readPresentedToken } from './read-presented-token.ts'
import type { UsedProofs } from './used-proofs.ts'

const PROOF_REUSED =
  'A request with this proof was received before: make a new proof, with its own jti, for each request.'
const NEEDS_BEARER =
  'The token is not bound to a key: send it as Authorization: Bearer, without the header DPoP.'

/**
 * Creates the function that checks a request's access token and, for a bound token, its DPoP proof. The check alone does not stop
 * a replay: its caller must then apply the client's limits, and mark the proof as used (`createUseProof`).
 *
 * @param deps.clock while this clock is not synchronised, every check throws 503, because no expiry can be judged
 * @param deps.now a token is refused from its `exp` on, even if the introspection says that it is active
 * @throws {Problem} 401 or 403 with a challenge; 400 for several Authorization headers; 429 if a limit prevents the check; 503.
 *   Also rethrows the errors of `introspect`
 */
export function createBearerCheck(deps: {
  introspect: IntrospectFor
  urls: ServiceUrls
  clock: Pick<WatchedClock, 'requireSynchronised'>
  now: () => Date
}) {
  const introspectFor = async (ctx: Context, token: string) => {
    try {
      return await deps.introspect(token, String(ctx.state['address']))
    } catch (error) {
      if (error instanceof IntrospectionLimited) throw createRateLimitedProblem(error.refusal)
      throw error
    }
  }
  /** Checks the parts of a proof that do not depend on the introspection of the token. */
  const requireProof = (ctx: Context, token: string, refusals: BearerRefusals): UnverifiedProof => {
    const request = { token, method: ctx.method, url: `${deps.urls.origin}${ctx.path}` }
    const proof = readProof(findHeaders(ctx.req, 'dpop'), request, deps.now())
    if (!proof.ok) throw refusals.invalidProof(proof.error)
    return proof.value
  }
  const verifyProof = createProofVerifier()
  /** Requires a valid proof for a token that is bound to a key, and none for any other token. */
  const requireMatchingBinding = async (
    ctx: Context,
    introspection: ActiveIntrospection,
    { proof, scopes }: { proof: UnverifiedProof | undefined; scopes: readonly string[] },
  ): Promise<Caller> => {
    // Each refusal below is about a proof, so its challenge names DPoP.
    const refusals = createBearerRefusals(deps.urls, scopes, ctx.path, 'DPoP')
    const { jkt } = introspection
    if (jkt === undefined) {
      if (findHeaders(ctx.req, 'dpop').length > 0 || proof) throw refusals.wrongScheme(NEEDS_BEARER)
      return toCaller(introspection)
    }
    if (!proof) throw refusals.wrongScheme(NEEDS_DPOP)
    const fault = await verifyProof(proof, jkt, deps.now())
    if (fault !== undefined) throw refusals.invalidProof(fault)
    return { ...toCaller(introspection), proof: { jkt, jti: proof.jti, iat: proof.iat } }
  }
  const checkToken = async (ctx: Context, scopes: readonly string[]): Promise<Caller> => {
    const credentials = readPresentedToken(ctx.req)
    const refusals = createBearerRefusals(
      deps.urls,
      scopes,
      ctx.path,
      credentials.ok ? credentials.value.scheme : 'Bearer',
    )
    if (!credentials.ok) {
      if (credentials.error === 'none') throw refusals.noToken('Send a bearer token.')
      if (credentials.error === 'another-scheme')
        throw refusals.noToken('Only the schemes Bearer and DPoP are known here.')
      if (credentials.error === 'several') throw refusals.ambiguousToken('Send one Authorization header.')
      throw refusals.invalidToken('The token does not look like one of ours: ppt_ and 43 more characters.')
    }
    const { scheme, token } = credentials.value
    const proof = scheme === 'DPoP' ? requireProof(ctx, token, refusals) : undefined
    const introspection = await introspectFor(ctx, token)
    if (!introspection.active) throw refusals.invalidToken(TOKEN_UNKNOWN)
    const fault = findIntrospectionFault(introspection, getAudienceForPath(deps.urls, ctx.path), deps.now())
    if (fault) throw refusals.invalidToken(fault)
    const caller = await requireMatchingBinding(ctx, introspection, { proof, scopes })
    if (!scopes.every((scope) => caller.scopes.has(scope))) throw refusals.missingScope()
    return caller
  }
  return (ctx: Context, scopes: readonly string[]) =>
    withSynchronisedClock(deps.clock, () => checkToken(ctx, scopes))
}

/**
 * Creates the function that marks a caller's proof as used. Call it only after the client's limits have been applied, because
 * they bound how fast the store grows.
 *
 * @throws {Problem} 401 with a challenge when the proof was used before; 503 while the clock is not synchronised. Also rethrows
 *   store errors
 */
export function createUseProof(deps: {
  usedProofs: UsedProofs
  urls: ServiceUrls
  clock: Pick<WatchedClock, 'requireSynchronised'>
}) {
  const markAsUsed = async (ctx: Context, scopes: readonly string[], proof: NonNullable<Caller['proof']>) => {
    if (await deps.usedProofs.use(proof)) return
    throw createBearerRefusals(deps.urls, scopes, ctx.path, 'DPoP').invalidProof(PROOF_REUSED)
  }
  return (ctx: Context, scopes: readonly string[], proof: NonNullable<Caller['proof']>) =>
    withSynchronisedClock(deps.clock, () => markAsUsed(ctx, scopes, proof))
}

/**
 * Creates the function that finds the caller of a public route in the introspection cache. The function returns undefined for a
 * token that is not cached, not valid or bound to a key, and while the clock is not synchronised. Then use `createBearerCheck`.
 * The function checks no scopes, because public routes require none. It expects the audience of the API, like every public route.
 */
export function createCachedBearerCheck(deps: {
  findCached: (token: string) => ActiveIntrospection | undefined
  urls: ServiceUrls
  clock: Pick<WatchedClock, 'isSynchronised'>
  now: () => Date
}) {
  return (request: Pick<IncomingMessage, 'rawHeaders'>): Caller | undefined => {
    const credentials = readPresentedToken(request)
    if (!credentials.ok || credentials.value.scheme !== 'Bearer' || !deps.clock.isSynchronised())
      return undefined
    const introspection = deps.findCached(credentials.value.token)
    if (!introspection || introspection.jkt !== undefined) return undefined
    return findIntrospectionFault(introspection, deps.urls.base, deps.now())
      ? undefined
      : toCaller(introspection)
  }
}

const callersByIntrospection = new WeakMap<ActiveIntrospection, Caller>()

/** Converts an introspection to a caller. Caches the result, because this runs on every request with a token. */
function toCaller(introspection: ActiveIntrospection): Caller {
  const cachedCaller = callersByIntrospection.get(introspection)
  if (cachedCaller) return cachedCaller
  const { clientId, scopes, registrationId, verifiedDomain } = introspection
  const caller: Caller = {
    clientId,
    scopes,
    ...(verifiedDomain !== undefined && { verifiedDomain }),
    ...(registrationId !== undefined && { registrationId }),
  }
  callersByIntrospection.set(introspection, caller)
  return caller
}
