import { randomUUID } from 'node:crypto'
import { createSender, form, type Sender } from '../send.ts'
import { type FaultCase, repeatedFault } from './fault-case.ts'
import type { DocumentServerFault } from './faulty-document-server.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { jsonObject } from './refusal.ts'

/** Agents at once whose documents cannot be fetched: more than may be fetched from one host. */
const AT_ONCE = 4
/** A fetch takes at most two seconds, and one may wait for a lock or a connection. */
const RESPONSE_MS = 5_000
/** The host of documents whose name does not resolve (RFC 6761 §6.4). */
const UNRESOLVED = 'agent.invalid'

/**
 * Faults of the servers with the documents of clients that are known by a URL. New clients get no token, clients whose document
 * is cached get theirs, and no other request is refused.
 */
export const DOCUMENT_FAULTS: readonly FaultCase[] = [
  documentServer('does not respond', 'silent', { isManual: false }),
  documentServer('closes connections within the body', 'cut'),
  documentServer('has the certificate of another host', 'wrong certificate'),
  documentServer('has a name that does not resolve', 'unresolved'),
]

function documentServer(
  what: string,
  fault: DocumentServerFault | 'unresolved',
  { isManual = true } = {},
): FaultCase {
  let sender: Sender
  let cached = ''
  let refusals = 0
  let wrong: string[] = []
  const urlOf = ({ documents }: FaultyStack, name: string) =>
    fault === 'unresolved' ? `https://${UNRESOLVED}/${name}.json` : documents.url(name)

  async function requestToken(system: FaultyStack, clientId: string) {
    const { origin } = system.stack
    const sent = form({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: system.documentKey.assertion(clientId, origin),
    })
    return sender.send({ method: 'POST', path: '/oauth/token', ...sent })
  }

  return {
    ...repeatedFault({
      name: `the server of clients' documents ${what}`,
      numbers: ['F-39'],
      parts: [],
      refuses: [],
      isManual,
      async prepare(system) {
        ;[refusals, wrong] = [0, []]
        sender = createSender(system.stack.origin)
        cached = system.documents.url(randomUUID())
        const { status, text } = await requestToken(system, cached)
        if (status !== 200) throw new Error(`the first token of a client with a URL: ${status} ${text}`)
        if (fault !== 'unresolved') system.documents.set(fault)
      },
      async act(system) {
        const fresh = Array.from({ length: AT_ONCE }, () => urlOf(system, `refused-${randomUUID()}`))
        const responses = await Promise.all([cached, ...fresh].map(async (id) => requestToken(system, id)))
        const [known, ...refused] = responses
        if (known?.status !== 200) wrong.push(`the client whose document is cached: ${known?.status}`)
        for (const { status, text, ms } of refused) {
          const { error } = jsonObject(text)
          refusals += 1
          if (status !== 401 && status !== 429)
            wrong.push(`a client without its document: ${status} ${String(error)}`)
          if (ms > RESPONSE_MS) wrong.push(`a refusal took ${(ms / 1000).toFixed(1)} s`)
        }
      },
    }),
    isObserved: () => refusals > 0,
    async finish(system) {
      system.documents.set(undefined)
      const { status } = await requestToken(system, system.documents.url(randomUUID()))
      if (status !== 200) wrong.push(`a new client after the fault: ${status}`)
      const { rowCount } = await system.admin.auth.query(`select from agents where id like '%/refused-%'`)
      if (rowCount !== 0) wrong.push(`${rowCount} clients are stored without their document`)
      sender[Symbol.dispose]()
      return [...new Set(wrong)]
    },
  }
}
