import { readTemplate } from '../read-template.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { MCP_VERSIONS } from './mcp-server.ts'
import { MCP_TOOLS, type McpTool } from './mcp-tools.ts'
import { MARKDOWN_TYPE, parsePath, type ServedDocument } from './served-document.ts'

const fillIn = readTemplate(new URL('./mcp.template.md', import.meta.url), ['urls'], {
  versions: MCP_VERSIONS.join(', '),
  tools: Object.entries<McpTool>(MCP_TOOLS)
    .map(([name, { description }]) => `| \`${name}\` | ${description} |`)
    .join('\n'),
})

/** `/mcp.md`: how a developer connects a client to the MCP server. A test runs its examples. */
export const mcpMd = (urls: ServiceUrls): ServedDocument => ({
  path: parsePath(urls.mcpMd),
  contentType: MARKDOWN_TYPE,
  content: fillIn({ urls }),
})
