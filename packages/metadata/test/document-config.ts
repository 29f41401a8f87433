import { authDocuments, guideDocuments, resourceDocuments } from '../src/documents/documents.ts'
import type { ResourceDocumentConfig, ServedDocument } from '../src/documents/served-document.ts'

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

/** A configuration; the documents are made with two guides. */
export const configured = (change: Partial<ResourceDocumentConfig> = {}): ResourceDocumentConfig => ({
  origin: ORIGIN,
  attorneyLists: ['https://lists.example/pro-bono', 'https://lists.example/accredited'],
  builtAt: new Date('2026-11-20T12:00:00Z'),
  securityContact: 'mailto:security@plainpath.example',
  ...change,
})

/** What both apps serve, by path. */
export function documentsByPath(
  change: Partial<ResourceDocumentConfig> = {},
): ReadonlyMap<string, ServedDocument> {
  const config = configured(change)
  const lists = Object.values(guideDocuments(config, GUIDES))
  const documents = [...authDocuments(config), ...resourceDocuments(config), ...lists]
  return new Map(documents.map((document) => [document.path, document]))
}

export function contentAt(path: string, change: Partial<ResourceDocumentConfig> = {}): string {
  const document = documentsByPath(change).get(path)
  if (!document) throw new Error(`nothing is served at ${path}`)
  return document.content
}

export const jsonAt = (path: string, change: Partial<ResourceDocumentConfig> = {}) =>
  JSON.parse(contentAt(path, change))

/** The addresses in a text, without the marks that end a sentence or a quotation. */
export const addressesIn = (text: string): string[] =>
  [...text.matchAll(/https?:\/\/[^\s"'`<>()|\\]+/g)].map(([address]) => address.replace(/[.,:;]+$/, ''))
