import type { Visit } from './crawl-service.ts'

interface ServerCard {
  readonly remotes?: readonly { readonly url: string }[]
}

/** Lists the named addresses for POST besides the operations: those of forms and of MCP servers. */
export function postTargets(visits: readonly Visit[]): ReadonlySet<string> {
  return new Set(visits.flatMap((visit) => [...listForms(visit), ...listMcpServers(visit)]))
}

const listForms = ({ href, type, text }: Visit): string[] =>
  type === 'text/html'
    ? [...text.matchAll(/<form\b[^>]*>/g)]
        .filter(([tag]) => /\smethod="post"/i.test(tag))
        .map(([tag]) => new URL(/\saction="([^"]*)"/.exec(tag)?.[1] ?? '', href).href)
    : []

const listMcpServers = ({ type, text }: Visit): string[] =>
  type === 'application/mcp-server-card+json'
    ? ((JSON.parse(text) as ServerCard).remotes ?? []).map(({ url }) => url)
    : []
