import { RULES } from '@plainpath/domain'
import type { Caller } from '@plainpath/http'
import { type HashKey, timingSafeEqualBytes } from '@plainpath/sealing'
import { z } from 'zod'

/*
 * The Model Context Protocol lets a client send a `requestState` back with a form. Because the state comes from the client, it is
 * authenticated and bound to its call. Nothing is stored, so each instance can read the states that other instances wrote.
 */

/** The tool call to which a form belongs. */
export interface FormCall {
  /** The address of the MCP server. */
  readonly address: string
  /** Undefined without a token. */
  readonly caller: Pick<Caller, 'clientId' | 'registrationId'> | undefined
  readonly tool: string
  /** The arguments as the client sent them. Their order does not matter. */
  readonly arguments: unknown
}

const State = z.strictObject({
  /** The time of expiry, in seconds since 1970. */
  expires: z.int(),
  /** The triggers that the form asks about. */
  asked: z.array(z.string()),
})

/** Writes and reads the states of forms. */
export interface RequestStates {
  /** Writes the state of a form that asks about these triggers. */
  write(askedTriggers: readonly string[], call: FormCall): string
  /**
   * Returns the triggers that the form asked about.
   *
   * @throws {Error} if the state was altered, has expired, or belongs to another call
   */
  read(state: string, call: FormCall): readonly string[]
}

/** Creates the functions that write and read states: base64url of JSON, a dot, and base64url of HMAC-SHA-256. */
export function createRequestStates({ hashKey, now }: { hashKey: HashKey; now: () => Date }): RequestStates {
  const computeMac = (body: string, { address, caller, tool, ...call }: FormCall) =>
    hashKey
      .hash(
        'mcp-request-state',
        canonicalJson([body, address, caller?.clientId, caller?.registrationId, tool, call.arguments]),
      )
      .toString('base64url')
  return {
    write(askedTriggers, call) {
      const expires = Math.floor((now().getTime() + RULES.formMs) / 1000)
      const body = Buffer.from(JSON.stringify({ expires, asked: askedTriggers })).toString('base64url')
      return `${body}.${computeMac(body, call)}`
    },
    read(state, call) {
      const [body = '', receivedMac = '', ...otherParts] = state.split('.')
      if (
        otherParts.length > 0 ||
        !timingSafeEqualBytes(Buffer.from(receivedMac), Buffer.from(computeMac(body, call)))
      )
        throw new Error('not authentic')
      const { expires, asked } = State.parse(JSON.parse(Buffer.from(body, 'base64url').toString()))
      if (expires * 1000 <= now().getTime()) throw new Error('expired')
      return asked
    },
  }
}

/** Formats a JSON value so that equal values have equal texts. */
const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
