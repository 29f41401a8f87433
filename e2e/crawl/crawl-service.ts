import { essence, type NamedLink, namedLinks } from './named-links.ts'

/** What one address answered to GET. */
export interface Visit {
  readonly href: string
  /** As it was announced where the address was named. */
  readonly announced?: string
  readonly status: number
  readonly type: string
  readonly headers: Headers
  readonly text: string
  /** The address whose answer named it first. */
  readonly from: string
}

/** So that a fault of ours cannot make a crawl without an end. */
const MOST_VISITS = 1_000

/**
 * Visits `start`, every address that its answer names, and so on, each once for every type it is said to have.
 * `{slug}` comes last, when guides are known to put in its place.
 */
export async function crawlService(start: string): Promise<Visit[]> {
  const queue: { link: NamedLink; from: string }[] = [{ link: { href: start }, from: '' }]
  const templates: typeof queue = []
  const seen = new Set<string>()
  const visits: Visit[] = []
  for (let next = queue.shift(); next; next = queue.shift() ?? filled(templates.shift(), visits)) {
    const { link, from } = next
    const key = `${link.href} ${essence(link.type ?? null)}`
    if (seen.has(key)) continue
    seen.add(key)
    // What only its owner can read; who names it says `{id}`, or shows an example.
    if (link.href.includes('{id}')) continue
    if (link.href.includes('{slug}')) {
      templates.push(next)
      continue
    }
    if (visits.length >= MOST_VISITS) throw new Error(`more than ${MOST_VISITS} addresses`)
    const visited = await visit(link, from)
    visits.push(visited)
    const named = namedLinks({ url: link.href, headers: visited.headers, text: visited.text })
    queue.push(...named.map((each) => ({ link: each, from: link.href })))
  }
  return visits
}

/** The slug of a guide whose page was visited. */
export const slugSeen = (visits: readonly Visit[]): string =>
  visits.flatMap(({ href }) => /\/guides\/([a-z0-9-]+)$/.exec(href)?.[1] ?? [])[0] ?? ''

function filled(
  template: { link: NamedLink; from: string } | undefined,
  visits: readonly Visit[],
): { link: NamedLink; from: string } | undefined {
  if (!template) return undefined
  const href = template.link.href.replace('{slug}', slugSeen(visits))
  return { ...template, link: { ...template.link, href } }
}

async function visit({ href, type }: NamedLink, from: string): Promise<Visit> {
  const response = await fetch(href, { headers: { accept: type ?? '*/*' }, redirect: 'manual' })
  return {
    href,
    from,
    ...(type !== undefined && { announced: type }),
    status: response.status,
    type: essence(response.headers.get('content-type')),
    headers: response.headers,
    text: await response.text(),
  }
}
