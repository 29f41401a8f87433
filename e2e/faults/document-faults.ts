import { randomUUID } from 'node:crypto'
import { createSender, form, type Sender } from '../send.ts'
import { createRepeatedFault, type FaultCase } from './fault-case.ts'
import type { DocumentServerFault } from './faulty-document-server.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { parseJsonObject } from './refusal.ts'

/** Exceeds the number of fetches from one host that an instance makes at the same time for new clients. */
const CONCURRENT_NEW_CLIENTS = 4
/** A fetch takes at most two seconds. The rest is for waiting for a lock or a connection. */
const MAX_RESPONSE_MS = 5_000
/** A host name that does not resolve (RFC 6761 §6.4). */
const UNRESOLVED_HOST = 'agent.invalid'

/**
 * Faults of servers that publish client documents. New clients receive no token, clients with a cached document still
 * do, and no other request is refused.
 */
export const DOCUMENT_FAULTS: readonly FaultCase[] = [
  createDocumentServerFault('does not respond', 'silent', { isManual: false }),
  createDocumentServerFault('closes connections within the body', 'cut'),
  createDocumentServerFault('has the certificate of another host', 'wrong certificate'),
  createDocumentServerFault('has a name that does not resolve', 'unresolved'),
]

function createDocumentServerFault(
  description: string,
  fault: DocumentServerFault | 'unresolved',
  { isManual = true } = {},
): FaultCase {
  let sender: Sender
  let cachedClientId = ''
  let refusalCount = 0
  let mistakes: string[] = []
  const toDocumentUrl = ({ documents }: FaultyStack, name: string) =>
    fault === 'unresolved' ? `https://${UNRESOLVED_HOST}/${name}.json` : documents.createUrl(name)

  /** Requests a token for a client whose id is the URL of its document. */
  async function requestToken(system: FaultyStack, clientId: string) {
    const { origin } = system.stack
    const grant = form({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: system.documentKey.signAssertion(clientId, origin),
    })
    return sender.send({ method: 'POST', path: '/oauth/token', ...grant })
  }

  return {
    ...createRepeatedFault({
      name: `the server of clients' documents ${description}`,
      numbers: ['F-39'],
      components: [],
      refusedOperations: [],
      isManual,
      async prepare(system) {
        refusalCount = 0
        mistakes = []
        sender = createSender(system.stack.origin)
        cachedClientId = system.documents.createUrl(randomUUID())
        const { status, text } = await requestToken(system, cachedClientId)
        if (status !== 200) throw new Error(`the first token of a client with a URL: ${status} ${text}`)
        if (fault !== 'unresolved') system.documents.setFault(fault)
      },
      async act(system) {
        const newClientIds = Array.from({ length: CONCURRENT_NEW_CLIENTS }, () =>
          toDocumentUrl(system, `refused-${randomUUID()}`),
        )
        const responses = await Promise.all(
          [cachedClientId, ...newClientIds].map(async (id) => requestToken(system, id)),
        )
        const [cachedResponse, ...refusedResponses] = responses
        if (cachedResponse?.status !== 200)
          mistakes.push(`the client whose document is cached: ${cachedResponse?.status}`)
        for (const { status, text, ms } of refusedResponses) {
          const { error } = parseJsonObject(text)
          refusalCount += 1
          // 401: without its document, the client is unknown. 429: too many documents are being fetched.
          if (status !== 401 && status !== 429)
            mistakes.push(`a client without its document: ${status} ${String(error)}`)
          if (ms > MAX_RESPONSE_MS) mistakes.push(`a refusal took ${(ms / 1000).toFixed(1)} s`)
        }
      },
    }),
    isObserved: () => refusalCount > 0,
    async finish(system) {
      system.documents.setFault(undefined)
      const { status } = await requestToken(system, system.documents.createUrl(randomUUID()))
      if (status !== 200) mistakes.push(`a new client after the fault: ${status}`)
      const { rowCount } = await system.admin.auth.query(`select from agents where id like '%/refused-%'`)
      if (rowCount !== 0) mistakes.push(`${rowCount} clients are stored without their document`)
      sender[Symbol.dispose]()
      return [...new Set(mistakes)]
    },
  }
}
