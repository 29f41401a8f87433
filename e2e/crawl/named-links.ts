/** An address that a response names. */
export interface NamedLink {
  readonly href: string
  /** The media type that was announced for the address, if any. */
  readonly type?: string
}

/** Finds every address of the response's own origin in its `Link` header and its body. */
export function findNamedLinks(response: { url: string; headers: Headers; text: string }): NamedLink[] {
  const { origin } = new URL(response.url)
  const links = [...findInLinkHeader(response), ...findInBody(response)]
  return links.flatMap(({ href, type }) => {
    const absolute = URL.parse(href, response.url)
    if (absolute?.origin !== origin) return []
    absolute.hash = ''
    return [{ href: decodeTemplate(absolute.href), ...(type !== undefined && { type }) }]
  })
}

/** Decodes the braces of `{slug}`, so that the crawler can replace it. */
const decodeTemplate = (href: string) => href.replaceAll('%7B', '{').replaceAll('%7D', '}')

/** Parses the parts of RFC 8288 §3 that we use. */
function findInLinkHeader({ headers }: { headers: Headers }): NamedLink[] {
  const value = headers.get('link') ?? ''
  return [...value.matchAll(/<([^>]*)>([^<]*)/g)].map(([, href = '', parameters = '']) => {
    const type = /;\s*type="([^"]*)"/.exec(parameters)?.[1]
    return { href, ...(type !== undefined && { type }) }
  })
}

function findInBody({ headers, text }: { headers: Headers; text: string }): NamedLink[] {
  const type = removeParameters(headers.get('content-type'))
  if (type === 'application/json' || type.endsWith('+json')) return findInJson(JSON.parse(text))
  if (type === 'text/html') return findInHtml(text)
  return findInText(text)
}

/** Removes the parameters of a media type. */
export const removeParameters = (type: string | null) =>
  (type ?? '').split(';')[0]?.trim().toLowerCase() ?? ''

/** Finds addresses in the strings of a JSON value. A `type` beside `href` or `url` is the media type of the link. */
function findInJson(value: unknown): NamedLink[] {
  if (typeof value === 'string') return findInText(value)
  if (typeof value !== 'object' || value === null) return []
  const { href, url, type } = value as Record<string, unknown>
  const target = typeof href === 'string' ? href : url
  const typedLinks =
    typeof target === 'string' && typeof type === 'string' && type.includes('/')
      ? [{ href: target, type }]
      : []
  return [...typedLinks, ...Object.values(value).flatMap(findInJson)]
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
}
const unescapeHtml = (markup: string) =>
  markup.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? '')

function findInHtml(markup: string): NamedLink[] {
  // The last alternative matches the address of the preview image (Open Graph).
  const pattern = /\s(?:href|src|action|property="og:image" content)="([^"]*)"/g
  const attributes = [...markup.matchAll(pattern)].map(([, href = '']) => unescapeHtml(href))
  const text = unescapeHtml(markup.replaceAll(/<[^>]*>/g, ' '))
  return [...attributes.map((href) => ({ href })), ...findInText(text)]
}

/** Finds addresses in a text, without the punctuation at the end of a sentence. */
const findInText = (text: string): NamedLink[] =>
  [...text.matchAll(/https?:\/\/[^\s"'`<>()|\\]+/g)].map(([address]) => ({
    href: address.replace(/[.,:;]+$/, ''),
  }))
