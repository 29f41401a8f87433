/** A request that a document instructs its reader to send. */
export interface DescribedRequest {
  readonly method: string
  /** An absolute URL, which may contain parameters such as `{slug}`. */
  readonly url: string
  /** The request itself: a block with a request line, a curl command, or the sentence that names it. */
  readonly text: string
  /** The heading above the request and, if a block contains the request, the paragraph before the block. */
  readonly about: string
}

/** A link in a document, with its sentence and the heading above it. */
export interface DescribedLink {
  readonly href: string
  readonly sentence: string
  readonly heading: string
}

const ADDRESS = String.raw`https?:\/\/[^\s"'\`()|<>]+`
const REQUEST_LINE = new RegExp(`^(GET|POST|PUT|DELETE) (${ADDRESS})`)
const INLINE_REQUEST = new RegExp(`\`(GET|POST|PUT|DELETE) (${ADDRESS})\``, 'g')
const LINK = new RegExp(`\\]\\((${ADDRESS})\\)`, 'g')

/** Finds the links and requests in a Markdown document. */
export function readMarkdown(markdown: string): {
  requests: readonly DescribedRequest[]
  links: readonly DescribedLink[]
} {
  const requests: DescribedRequest[] = []
  const links: DescribedLink[] = []
  let heading = ''
  let paragraphBefore = ''
  for (const part of splitMarkdown(markdown)) {
    if (part.startsWith('```')) requests.push(...findRequestsInBlock(part, `${heading}\n${paragraphBefore}`))
    else if (part.startsWith('#')) {
      heading = part
      paragraphBefore = ''
    } else {
      paragraphBefore = part
      // A sentence ends with a full stop or a colon. The next one begins with a capital letter, code or a link.
      for (const sentence of part.split(/(?<=[.:]) (?=[A-Z`[])/)) {
        requests.push(...findRequestsInSentence(sentence, heading))
        links.push(...Array.from(sentence.matchAll(LINK), ([, href = '']) => ({ href, sentence, heading })))
      }
    }
  }
  return { requests, links }
}

/** Splits a document into headings, fenced blocks, paragraphs and list items. */
const splitMarkdown = (markdown: string): string[] =>
  markdown
    .split(/^(```[\s\S]*?^```)$/m)
    .flatMap((part) => (part.startsWith('```') ? [part] : part.split(/\n{2,}|\n(?=- |#)|(?<=^#.*)\n/m)))
    .map((part) => part.trim())
    .filter((part) => part !== '')

function findRequestsInBlock(block: string, about: string): DescribedRequest[] {
  const text = block.replace(/^```.*\n/, '').replace(/\n?```$/, '')
  const [, method, url] = REQUEST_LINE.exec(text) ?? []
  if (method !== undefined && url !== undefined) return [{ method, url, text, about }]
  return Array.from(text.matchAll(/\bcurl (?:\\\n|.)*/g), ([command]) => ({
    method: /-X ?([A-Z]+)/.exec(command)?.[1] ?? (/ (-d|--data)/.test(command) ? 'POST' : 'GET'),
    url: new RegExp(ADDRESS).exec(command)?.[0] ?? '',
    text: command,
    about,
  })).filter((request) => request.url !== '')
}

const findRequestsInSentence = (sentence: string, about: string): DescribedRequest[] =>
  Array.from(sentence.matchAll(INLINE_REQUEST), ([, method = '', url = '']) => ({
    method,
    url,
    text: sentence,
    about,
  }))
