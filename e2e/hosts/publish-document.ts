import type { DocumentServer } from '@plainpath/auth/document-server'

/** Any key, since the document that has it is replaced at once. */
const NO_KEY = { jwk: { kty: 'OKP' } }

/** Publishes the JSON that is made for a new URL, and returns how it can be changed. Undefined is not found. */
export function publishDocument(documents: DocumentServer, describe: (url: string) => object | undefined) {
  const published = documents.publish([NO_KEY])
  published.change(describe(published.client_id))
  return { url: published.client_id, change: (document: object) => published.change(document) }
}
