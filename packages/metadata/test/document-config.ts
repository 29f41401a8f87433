import { createAuthDocuments, createResourceDocuments } from '../src/documents/documents.ts'
import type { ResourceDocumentConfig, ServedDocument } from '../src/documents/served-document.ts'
import { createServiceUrls } from '../src/service-urls.ts'

export const ORIGIN = 'https://plainpath.example'

const GUIDES = [
  {
    slug: 'renew-green-card',
    title: 'Renew a green card',
    summary: 'How to renew.',
    updated: '2026-11-01',
  },
  {
    slug: 'work-permit',
    title: 'Get a work permit',
    summary: 'How to ask for one.',
    updated: '2026-11-20',
  },
]

/** The API's documents are created from this configuration, unless a test replaces a value. */
export const CONFIG: ResourceDocumentConfig = {
  attorneyLists: ['https://lists.example/pro-bono', 'https://lists.example/accredited'],
  startedAt: new Date('2026-11-20T12:00:00Z'),
  securityContact: 'mailto:security@plainpath.example',
  listGuides: () => GUIDES,
}

/** Values that replace those of `CONFIG` and `ORIGIN`. */
interface ConfigChange extends Partial<ResourceDocumentConfig> {
  readonly origin?: string
}

/** Creates the documents of both apps, by path. If `content` is a function, it is replaced with the text that it returns. */
export function createDocumentsByPath({
  origin = ORIGIN,
  ...change
}: ConfigChange = {}): ReadonlyMap<string, ServedDocument & { readonly content: string }> {
  const urls = createServiceUrls(origin)
  const documents = [...createAuthDocuments(urls), ...createResourceDocuments(urls, { ...CONFIG, ...change })]
  return new Map(
    documents.map((document) => {
      const { content } = document
      return [document.path, { ...document, content: typeof content === 'string' ? content : content() }]
    }),
  )
}

/** Returns the text of the document that is served at a path. */
export function getContentAt(path: string, change: ConfigChange = {}): string {
  const document = createDocumentsByPath(change).get(path)
  if (!document) throw new Error(`nothing is served at ${path}`)
  return document.content
}

export const getJsonAt = (path: string, change: ConfigChange = {}) => JSON.parse(getContentAt(path, change))

/** Lists the addresses in a text, without punctuation at the end. */
export const listAddresses = (text: string): string[] =>
  [...text.matchAll(/https?:\/\/[^\s"'`<>()|\\]+/g)].map(([address]) => address.replace(/[.,:;]+$/, ''))
