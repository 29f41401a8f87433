import type { Visit } from './crawl-service.ts'

interface ServerMetadata {
  readonly registration_endpoint: string
}
interface ServerCard {
  readonly remotes?: readonly { readonly url: string }[]
}

/** Lists the named addresses for POST that are not operations: forms, MCP servers and the registration of apps. */
export function listPostTargets(visits: readonly Visit[]): ReadonlySet<string> {
  return new Set(
    visits.flatMap((visit) => [...listForms(visit), ...listMcpServers(visit), ...listRegistrations(visit)]),
  )
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

const listRegistrations = ({ href, text }: Visit): string[] =>
  new URL(href).pathname === '/.well-known/oauth-authorization-server'
    ? [(JSON.parse(text) as ServerMetadata).registration_endpoint]
    : []
