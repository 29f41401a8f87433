/*
 * The chat hosts and IDEs from which people connect, with the requests of each. Unless stated otherwise, a source is a GitHub
 * repository with the numbers of its issues, such as `anthropics/claude-ai-mcp 96, 518`. `host-fixture.ts` describes the fields.
 */
import {
  CHATGPT,
  CHATGPT_DOCUMENT,
  CLAUDE,
  GEMINI,
  GROK,
  GROK_REDIRECT_URIS,
  type HostFixture,
  PUBLIC_CLIENT,
} from './host-fixture.ts'
import { PROGRAMS } from './program-fixtures.ts'

const CHAT_APPS: readonly HostFixture[] = [
  {
    ...CLAUDE,
    name: 'Claude, by its document',
    source: 'claude.com/docs/connectors/building/authentication; anthropics/claude-ai-mcp 96, 518, 1064',
    identification: {
      by: 'document',
      clientId: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
      document: {
        client_name: 'Claude',
        client_uri: 'https://claude.ai',
        redirect_uris: [
          'https://claude.ai/api/mcp/auth_callback',
          'https://claude.com/api/mcp/auth_callback',
        ],
        ...PUBLIC_CLIENT,
      },
    },
    redirectUri: 'https://claude.ai/api/mcp/auth_callback',
    resource: 'as published',
    scope: 'with leading space and offline_access',
    parameters: { prompt: 'consent' },
  },
  {
    ...CLAUDE,
    name: 'Claude, registered',
    source: 'anthropics/claude-ai-mcp 886; elmohq/elmo 684',
    identification: {
      by: 'registration',
      body: {
        client_name: 'Claude',
        redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
        ...PUBLIC_CLIENT,
        // Claude copies the scope of the resource.
        scope: 'contact:write',
        application_type: 'web',
      },
    },
    redirectUri: 'https://claude.ai/api/mcp/auth_callback',
    resource: 'as published',
    scope: 'resource scopes and offline_access',
    parameters: { prompt: 'consent' },
  },
  {
    ...CLAUDE,
    name: 'Claude at claude.com',
    source: 'claude.com/docs/connectors/building/authentication; anthropics/claude-ai-mcp 228',
    identification: {
      by: 'registration',
      body: {
        client_name: 'Claude',
        redirect_uris: ['https://claude.com/api/mcp/auth_callback'],
        ...PUBLIC_CLIENT,
        scope: 'mcp',
        application_type: 'web',
      },
    },
    redirectUri: 'https://claude.com/api/mcp/auth_callback',
    resource: 'as published',
    scope: 'server scopes',
    parameters: { prompt: 'consent' },
  },
  {
    ...CLAUDE,
    name: 'Claude on a desktop, in an earlier revision',
    source: 'anthropics/claude-ai-mcp 217, 680; brendanlong/lion-reader 986',
    clientInfo: { name: 'claude-ai', version: '0.1.0' },
    revision: '2025-06-18',
    discoversFirst: false,
    metadataLocations: ['path', 'path'],
    identification: {
      by: 'registration',
      body: {
        client_name: 'Claude',
        redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
        ...PUBLIC_CLIENT,
      },
    },
    redirectUri: 'https://claude.ai/api/mcp/auth_callback',
    resource: 'as published',
    scope: 'resource scopes',
    parameters: { prompt: 'consent' },
  },
  {
    ...CHATGPT,
    name: 'ChatGPT, by a document of the connection, without keys',
    source:
      'gamedevpl/www.gamedev.pl 641; developers.openai.com/plugins/build/auth; onkernel/kernel-mcp-server 91',
    identification: {
      by: 'document',
      document: {
        ...CHATGPT_DOCUMENT,
        redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
        jwks_uri: 'https://chatgpt.com/oauth/jwks.json',
      },
    },
    redirectUri: 'https://chatgpt.com/connector_platform_oauth_redirect',
    resource: 'as published',
    scope: 'resource scopes',
  },
  {
    ...CHATGPT,
    name: 'ChatGPT, by a document of the connection, with its key',
    source: 'Altinity/altinity-mcp 118; engram-app/Engram 1633; getsentry/sentry-mcp 1271',
    identification: {
      by: 'document',
      document: { ...CHATGPT_DOCUMENT, redirect_uris: ['https://chatgpt.com/connector/oauth/kDmjx77UnKOM'] },
    },
    redirectUri: 'https://chatgpt.com/connector/oauth/kDmjx77UnKOM',
    resource: 'as published',
    scope: 'resource scopes',
    assertionAlgorithm: 'RS256',
  },
  {
    ...CHATGPT,
    name: 'ChatGPT, by its document',
    source: 'Altinity/altinity-mcp 118; developers.openai.com/plugins/build/auth',
    identification: {
      by: 'document',
      clientId: 'https://chatgpt.com/oauth/client.json',
      document: {
        ...CHATGPT_DOCUMENT,
        redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
        jwks_uri: 'https://chatgpt.com/oauth/jwks.json',
      },
    },
    redirectUri: 'https://chatgpt.com/connector_platform_oauth_redirect',
    resource: 'as published',
    scope: 'resource scopes',
  },
  {
    ...CHATGPT,
    name: 'ChatGPT, registered',
    source: 'developers.openai.com/plugins/build/auth',
    identification: {
      by: 'registration',
      body: {
        client_name: 'ChatGPT',
        redirect_uris: ['https://chatgpt.com/connector/oauth/abcDEF123456'],
        ...PUBLIC_CLIENT,
      },
    },
    redirectUri: 'https://chatgpt.com/connector/oauth/abcDEF123456',
    resource: 'as published',
    scope: 'resource scopes',
  },
  {
    ...GROK,
    name: 'Grok, by its document',
    source: 'koala73/worldmonitor 8305, 8307',
    identification: {
      by: 'document',
      clientId: 'https://grok.com/oauth/mcp-client.json',
      document: {
        client_name: 'Grok',
        client_uri: 'https://grok.com',
        redirect_uris: GROK_REDIRECT_URIS,
        ...PUBLIC_CLIENT,
      },
    },
    redirectUri: 'https://grok.com/connectors-oauth-exchange-code/',
    resource: 'as published',
    scope: 'resource scopes',
  },
  {
    ...GROK,
    name: 'Grok, registered',
    source: 'erp-mafia/accounted 2158; dinglebear-ai/unraid 390',
    identification: {
      by: 'registration',
      body: { client_name: 'Grok', redirect_uris: GROK_REDIRECT_URIS, ...PUBLIC_CLIENT },
    },
    redirectUri: 'https://console.x.ai/connectors-oauth-exchange-code/',
    resource: 'omitted',
    scope: 'server scopes',
  },
  {
    ...GEMINI,
    name: 'Gemini app',
    source: 'makeplane/plane-mcp-server 230; kentcdodds/kody 944',
    identification: {
      by: 'registration',
      body: {
        client_name: 'Gemini',
        redirect_uris: ['https://oauth-redirect.googleusercontent.com/r/user-bound-4Tq1x_9-'],
        ...PUBLIC_CLIENT,
      },
    },
    redirectUri: 'https://oauth-redirect.googleusercontent.com/r/user-bound-4Tq1x_9-',
    resource: 'as published',
    scope: 'resource scopes',
  },
  {
    ...GEMINI,
    name: 'Gemini Enterprise, registered beforehand',
    source: 'pipefy/ai-toolkit 586',
    identification: {
      by: 'registration',
      body: {
        client_name: 'Gemini Enterprise',
        redirect_uris: ['https://vertexaisearch.cloud.google.com/oauth-redirect'],
        ...PUBLIC_CLIENT,
      },
    },
    redirectUri: 'https://vertexaisearch.cloud.google.com/oauth-redirect',
    resource: 'omitted',
    scope: 'resource scopes',
  },
  {
    name: 'Le Chat',
    source: 'odoo-mcp-pro 21; gtm-mcp-server 3',
    identification: {
      by: 'registration',
      body: {
        client_name: 'Mistral AI',
        redirect_uris: ['https://callback.mistral.ai/v1/integrations_auth/oauth2_callback'],
        ...PUBLIC_CLIENT,
      },
    },
    redirectUri: 'https://callback.mistral.ai/v1/integrations_auth/oauth2_callback',
    resource: 'as published',
    scope: 'resource scopes',
    userAgents: { oauth: 'python-httpx/0.28.1', mcp: 'python-httpx/0.28.1' },
    clientInfo: { name: 'mistral', version: '1.0.0' },
    capabilities: {},
  },
]

export const HOSTS: readonly HostFixture[] = [...CHAT_APPS, ...PROGRAMS]
