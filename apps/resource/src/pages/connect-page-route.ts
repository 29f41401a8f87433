import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { renderConnectPage } from '@plainpath/pages'
import { PUBLIC_PAGE, preparePage } from './page.ts'

/** Creates the route for the page `/connect`, which explains how to add one of the MCP servers to a chat app. */
export function createConnectPageRoute({ urls }: { urls: ServiceUrls }): Route {
  const title = 'Connect a chat app'
  const prepared = preparePage(urls, {
    path: '/connect',
    title,
    description:
      'Ask about U.S. immigration in Claude, ChatGPT and other apps, and get answers from guides that cite their sources.',
    body: renderConnectPage({
      signedInUrl: urls.signedInMcp,
      publicUrl: urls.publicMcp,
      documents: [
        { href: urls.mcpMd, text: 'Connect an MCP client: examples and errors' },
        { href: urls.signedInMcpProtectedResource, text: 'Protected resource metadata (RFC 9728)' },
        { href: urls.authorizationServer, text: 'Authorization server metadata (RFC 8414)' },
        { href: urls.serverCard, text: 'Server card' },
      ],
    }),
  })
  return defineRoute({
    ...PUBLIC_PAGE,
    path: '/connect',
    operationId: 'connectPage',
    summary: title,
    handle: () => ({ status: 200, prepared }),
  })
}
