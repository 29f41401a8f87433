import { describe, expect, test } from 'vitest'
import { converse, formatRequest } from '../converse.ts'
import { FRAMINGS, formatFramedRequest } from '../framings.ts'
import { openStoredCounts } from '../stored-counts.ts'
import type { System } from './open-system.ts'

const JSON_TYPE = 'Content-Type: application/json'

/** Matches the names of the two framings that combine valid chunks with a length. */
const CHUNKS_AND_LENGTH = /^(a length and chunks|chunks and a length)$/

/** A server, and the requests that are sent to it. The hidden request would store a row if it reached the app that serves it. */
interface AttackedServer {
  readonly name: string
  getUrl(system: System): string
  /** The request line of the outer request. */
  readonly requestLine: string
  formatHiddenRequest(system: System, host: string): string
}

const formatJoin = (system: System, host: string) => {
  const body = JSON.stringify({ email: system.createEmail() })
  return formatRequest('POST /api/waitlist', host, [JSON_TYPE, `Content-Length: ${body.length}`], body)
}
const formatRegistration = (_system: System, host: string) =>
  formatRequest('POST /api/agent/register', host, ['Content-Length: 0'])

const SERVERS: readonly AttackedServer[] = [
  {
    name: 'the gateway, to auth',
    getUrl: ({ origin }) => origin,
    requestLine: 'POST /oauth/token',
    formatHiddenRequest: formatJoin,
  },
  {
    name: 'the gateway, to the API',
    getUrl: ({ origin }) => origin,
    requestLine: 'POST /api/waitlist',
    formatHiddenRequest: formatRegistration,
  },
  {
    name: 'an auth process',
    getUrl: ({ stack }) => `http://127.0.0.1:${stack.auth[0]?.ports.public}`,
    requestLine: 'POST /oauth/token',
    formatHiddenRequest: formatRegistration,
  },
  {
    name: 'an API process',
    getUrl: ({ stack }) => `http://127.0.0.1:${stack.resource[0]?.ports.public}`,
    requestLine: 'POST /api/waitlist',
    formatHiddenRequest: formatJoin,
  },
]

/** Tests requests with a hidden request, whose bytes one server reads as a body, and another server as a new request. */
export function describeSmuggling(getSystem: () => System): void {
  describe.for(SERVERS)(
    'sent to $name, a hidden request is not processed:',
    ({ getUrl, requestLine, formatHiddenRequest, name }) => {
      test.for(FRAMINGS)('$name', async (framing) => {
        const system = getSystem()
        const { host } = new URL(system.origin)
        await using storedCounts = await openStoredCounts(system)
        const countsBefore = await storedCounts.count()
        const { responses, closed } = await converse(
          getUrl(system),
          formatFramedRequest(framing, host, requestLine, formatHiddenRequest(system, host)),
        )
        const statuses = responses.map(({ status }) => status)
        if (name.startsWith('the gateway')) {
          // RFC 9112 §6.1 lets a server use the chunks. The hidden request is then an ordinary second request.
          if (CHUNKS_AND_LENGTH.test(framing.name)) return await expectMatchingResponses(system)
          expect(statuses.length).toBeLessThanOrEqual(1)
        } else {
          expect(statuses).toHaveLength(1)
          expect([400, 401, 413, 415]).toContain(statuses[0])
          expect(closed).toBe(true)
        }
        expect(statuses).not.toContain(201)
        expect(await storedCounts.count()).toEqual(countsBefore)
        await expectMatchingResponses(system)
      })
    },
  )
}

/** Expects responses to match their requests, on connections that the gateway shares between clients. */
async function expectMatchingResponses(system: System): Promise<void> {
  const expectedTexts: Record<string, string> = {
    '/oauth/jwks.json': '"keys"',
    '/api/health': '"checks"',
    '/api/guides/avoid-scams': '"avoid-scams"',
    '/.well-known/oauth-authorization-server': '"issuer"',
    '/.well-known/oauth-protected-resource': '"authorization_servers"',
  }
  const sender = system.createSender({ from: '127.0.0.20' })
  const paths = [...Object.keys(expectedTexts), ...Object.keys(expectedTexts)]
  const responses = await Promise.all(paths.map((path) => sender.send({ path })))
  responses.forEach(({ text }, index) => expect(text).toContain(expectedTexts[paths[index] ?? '']))
}
