import type { AgentDocuments } from '@plainpath/auth/agent-documents'

/** A placeholder for the key. The document that contains it is replaced immediately. */
const NO_KEY = { jwk: { kty: 'OKP' } }

/**
 * Publishes a document at a new URL. If `createDocument` returns undefined, the URL is not found.
 *
 * @returns the URL, and a function that replaces the document
 */
export function publishDocument(
  documents: AgentDocuments,
  createDocument: (url: string) => object | undefined,
) {
  const published = documents.publish([NO_KEY])
  published.setDocument(createDocument(published.client_id))
  return { url: published.client_id, setDocument: (document: object) => published.setDocument(document) }
}
