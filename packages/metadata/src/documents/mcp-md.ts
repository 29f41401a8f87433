import { durationInWords, numberInWords, RULES } from '@plainpath/domain'
import { readTemplate } from '../read-template.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { MCP_VERSIONS } from './mcp-server.ts'
import { MCP_TOOLS, type McpTool } from './mcp-tools.ts'
import { MARKDOWN_TYPE, parsePath, type ServedDocument } from './served-document.ts'

const fillTemplate = readTemplate(new URL('./mcp.template.md', import.meta.url), ['urls', 'chatAddresses'], {
  versions: MCP_VERSIONS.join(', '),
  formQuestions: numberInWords(RULES.formQuestions),
  formMinutes: durationInWords('minute', RULES.formMs),
  tools: Object.entries<McpTool>(MCP_TOOLS)
    .map(([name, { description }]) => `| \`${name}\` | ${description} |`)
    .join('\n'),
})

/** Creates `/mcp.md`, which explains how a developer connects a client to the MCP server. A test runs its programs. */
export const createMcpMd = (urls: ServiceUrls): ServedDocument => ({
  path: parsePath(urls.mcpMd),
  contentType: MARKDOWN_TYPE,
  content: fillTemplate({ urls, chatAddresses: formatChatAddresses(urls) }),
})

/** Formats the MCP server addresses for people in a chat app, on one line. */
export const formatChatAddresses = ({ publicMcp, signedInMcp }: ServiceUrls): string =>
  publicMcp === undefined
    ? `${signedInMcp} (with sign-in)`
    : `${publicMcp} (without sign-in), ${signedInMcp} (with sign-in)`
