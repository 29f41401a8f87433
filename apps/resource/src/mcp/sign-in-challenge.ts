import { Problem, type RequestFacts, type RouteReply } from '@plainpath/http'
import { MCP_VERSIONS } from '@plainpath/metadata'
import { z } from 'zod'

/** How a kind of host learns that the person has to sign in. */
interface HostChallenge {
  readonly hosts: string
  /** Matches the `User-Agent` of its MCP requests, which anybody can send: it decides the form of a refusal only. */
  readonly userAgent: RegExp
  /**
   * The response to a tool call without a valid token. `status`: 401 with `WWW-Authenticate`, as to every other message.
   * `result`: 200 with a tool result whose `_meta` has the challenge.
   */
  readonly toolCall: 'status' | 'result'
  /** Why, and when that was last read. */
  readonly source: string
}

/** The first row that matches counts. */
const HOST_CHALLENGES: readonly HostChallenge[] = [
  {
    hosts: 'ChatGPT',
    userAgent: /^openai-mcp(?:\/|$)/,
    toolCall: 'result',
    source:
      'developers.openai.com/apps-sdk/build/auth; mcp-use #2611, 2026-09-21: a 401 to a tool call opens no sign-in',
  },
  {
    hosts: 'all others',
    userAgent: /^/,
    toolCall: 'status',
    source: 'MCP 2026-07-28, Authorization; Claude, Grok and Cursor start OAuth on a 401 only',
  },
]

/** Finds how a host learns that the person has to sign in. */
const findHostChallenge = (userAgent: string): HostChallenge['toolCall'] =>
  HOST_CHALLENGES.find((row) => row.userAgent.test(userAgent))?.toolCall ?? 'status'

const ToolCall = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]),
  method: z.literal('tools/call'),
})

const REFUSED: ReadonlySet<unknown> = new Set(['token-required', 'invalid-token'])

/**
 * Returns the challenge of a refusal as a tool result, for a tool call of a host that needs that. Undefined for any other
 * message, host or refusal, and for a body that is not a message.
 */
export async function challengeAsResult(
  refusal: unknown,
  { request, readBody }: { request: Pick<RequestFacts, 'header'>; readBody: () => Promise<unknown> },
): Promise<RouteReply | undefined> {
  if (!(refusal instanceof Problem) || !REFUSED.has(refusal.code)) return undefined
  if (findHostChallenge(request.header('user-agent')) === 'status') return undefined
  const call = ToolCall.safeParse(await readBody().catch(() => undefined))
  const challenge = refusal.options.headers?.['www-authenticate']
  if (!call.success || challenge === undefined) return undefined
  const result = {
    // The revisions of 2025 do not have it.
    ...(request.header('mcp-protocol-version') === MCP_VERSIONS[0] && { resultType: 'complete' }),
    content: [{ type: 'text', text: SIGN_IN }],
    isError: true,
    _meta: { 'mcp/www_authenticate': [withError(challenge)] },
  }
  const content = JSON.stringify({ jsonrpc: '2.0', id: call.data.id, result })
  return { status: 200, text: { type: 'application/json', content } }
}

const SIGN_IN = 'The person must sign in to Plainpath first. The app shows them how.'

/** The documented form of this challenge has both parameters, also if no token was sent. */
const withError = (challenge: string) =>
  `${challenge}${challenge.includes('error="') ? '' : ', error="invalid_token"'}, error_description="${SIGN_IN}"`
