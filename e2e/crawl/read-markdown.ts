/** A request that a document instructs its reader to send. */
export interface DescribedRequest {
  readonly method: string
  /** Absolute; parameters stand as `{slug}`. */
  readonly url: string
  /** The request itself: a block with a request line, a curl command, or the sentence that names it. */
  readonly text: string
  /** The heading above it, and the paragraph before a block. */
  readonly about: string
}

/** A link of a document, with the sentence that it is in and the heading above it. */
export interface DescribedLink {
  readonly href: string
  readonly sentence: string
  readonly heading: string
}

const ADDRESS = String.raw`https?:\/\/[^\s"'\`()|<>]+`
const REQUEST_LINE = new RegExp(`^(GET|POST|PUT|DELETE) (${ADDRESS})`)
const INLINE = new RegExp(`\`(GET|POST|PUT|DELETE) (${ADDRESS})\``, 'g')
const LINK = new RegExp(`\\]\\((${ADDRESS})\\)`, 'g')

/** Takes out of a Markdown document what its reader can do next. */
export function readMarkdown(markdown: string): {
  requests: readonly DescribedRequest[]
  links: readonly DescribedLink[]
} {
  const requests: DescribedRequest[] = []
  const links: DescribedLink[] = []
  let heading = ''
  let before = ''
  for (const part of splitMarkdown(markdown)) {
    if (part.startsWith('```')) requests.push(...requestsInBlock(part, `${heading}\n${before}`))
    else if (part.startsWith('#')) [heading, before] = [part, '']
    else {
      before = part
      for (const sentence of part.split(/(?<=[.:]) (?=[A-Z`[])/)) {
        requests.push(...requestsInSentence(sentence, heading))
        links.push(...Array.from(sentence.matchAll(LINK), ([, href = '']) => ({ href, sentence, heading })))
      }
    }
  }
  return { requests, links }
}

/** Headings, fenced blocks, and what is between them, a paragraph or list item each. */
const splitMarkdown = (markdown: string): string[] =>
  markdown
    .split(/^(```[\s\S]*?^```)$/m)
    .flatMap((part) => (part.startsWith('```') ? [part] : part.split(/\n{2,}|\n(?=- |#)|(?<=^#.*)\n/m)))
    .map((part) => part.trim())
    .filter((part) => part !== '')

function requestsInBlock(block: string, about: string): DescribedRequest[] {
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

const requestsInSentence = (sentence: string, about: string): DescribedRequest[] =>
  Array.from(sentence.matchAll(INLINE), ([, method = '', url = '']) => ({
    method,
    url,
    text: sentence,
    about,
  }))
