import { durationIn, RULES } from '@plainpath/domain'
import { type Html, html } from './html.ts'

interface ConnectPage {
  /** The MCP server that requires sign-in. */
  readonly signedIn: string
  /** The MCP server without sign-in; undefined where there is none. */
  readonly open: string | undefined
  /** Links for developers, in the order in which they are read. */
  readonly documents: readonly { readonly href: string; readonly text: string }[]
}

const EMAIL = html`<span class="form-name">e-mail</span>`

/** The body of `/connect`: the two addresses, how to add one to an app, and how to end the connection. */
export function connectPage({ signedIn, open, documents }: ConnectPage): Html {
  return html`<h1>Connect a chat app</h1>
<p class="lead">Ask about U.S. immigration in Claude, ChatGPT or another app. The app then answers from our guides, and names its sources.</p>
<p class="notice"><strong>The company behind the app sees what you type there</strong>, and may keep it. On our page <a href="/ask">Ask</a> we keep no question. If somebody is detained or in danger, <a href="/get-help">get help now</a>.</p>
<h2 id="addresses">Choose an address</h2>
${open !== undefined && openAddress(open)}
<h3>With sign-in</h3>
<pre><code>${signedIn}</code></pre>
<p>${open === undefined ? 'The app can ask questions, search the guides and read them.' : 'All of that, and more:'} The app can send a message to our staff for you, tell you what became of it, and take it back. You sign in with a code that we send to your ${EMAIL} address. There is no password.</p>
<h2 id="apps">Add it to your app</h2>
<p>Copy the address above. Menus change: if a name differs, look for connectors, apps or MCP servers. Some apps allow this only to an administrator, or only in a paid plan.</p>
${apps({ signedIn, open }).map(({ name, steps }) => html`<h3>${name}</h3>\n<ol>\n${steps.map((step) => html`<li>${step}</li>\n`)}</ol>\n`)}
<h2 id="sign-in">When you sign in</h2>
<ol>
<li>Our page opens in your browser. It says which app asks, and where the result goes. <strong>Continue only if you yourself just connected that app.</strong> If not, press Deny.</li>
<li>Type your ${EMAIL} address. We send you a code.</li>
<li>Type the code into the same page, and press Allow. <strong>Never type the code into a chat</strong>, and tell it to nobody.</li>
</ol>
<h2 id="may">What the app may do</h2>
<ul>
<li>Send a message to our staff for you. We send you an ${EMAIL} about each one.</li>
<li>See what became of its messages, and take one back before our staff get it.</li>
</ul>
<p>It may not read your ${EMAIL}, change or see anything else, or act for you anywhere else. The permission ends after ${durationIn('day', RULES.claimMs)}.</p>
<h2 id="end">End it</h2>
<p>Open the link in any ${EMAIL} that we sent you about an app. The page lists every app that you connected, and you can end one or all of them. That works at once, whatever the app does. Then remove the connection in the app too.</p>
<p>If you have no such ${EMAIL} any more, <a href="/contact">write to us</a>.</p>
<h2 id="developers">For developers</h2>
<p>What an app meets at these addresses:</p>
<dl class="kept">
<dt>Both</dt>
<dd>The Model Context Protocol over Streamable HTTP, without sessions, in revision 2026-07-28 and those of 2025. Clients that declare elicitation in the newest revision get some check questions as a form.</dd>
${open !== undefined && html`<dt>Without sign-in</dt>\n<dd>Only tools that read. It never answers 401 and ignores <code>Authorization</code>. Its origin has no OAuth metadata.</dd>\n`}<dt>With sign-in</dt>
<dd>Every request without a valid token gets 401, with a challenge that names the metadata. The authorization server offers the authorization code grant with PKCE (S256), refresh tokens, and <code>iss</code> in each response (RFC 9207). A sign-in must be finished within ${durationIn('minute', RULES.signInMs)}. A token lasts ${durationIn('hour', RULES.appTokenMs)}. Each refresh replaces the refresh token, and the old one works for ${durationIn('minute', RULES.refreshGraceMs)} more; after that, its use ends the connection. There is one scope, <code>contact:write</code>.</dd>
<dt>Clients</dt>
<dd>Public clients, by a Client ID Metadata Document or by dynamic registration (RFC 7591). A registration that nobody signs in with expires after ${durationIn('day', RULES.unusedAppMs)}. Redirect URIs are those of known apps, or on a loopback address with any port. If yours is refused, <a href="/contact">write to us</a>.</dd>
<dt>Agents without a browser</dt>
<dd>They register and use client credentials at another address: <a href="/mcp.md">how to connect an agent</a>.</dd>
</dl>
<ul>
${documents.map(({ href, text }) => html`<li><a href="${href}">${text}</a></li>\n`)}</ul>`
}

const openAddress = (address: string): Html => html`<h3>Without sign-in</h3>
<pre><code>${address}</code></pre>
<p>The app can ask questions, search the guides and read them. We do not learn who you are. Begin with this one.</p>
`

type Addresses = Pick<ConnectPage, 'signedIn' | 'open'>

/** The apps that the page explains, each in three steps. They are from the vendors' documents of September and October 2026. */
function apps({ signedIn, open = signedIn }: Addresses): readonly { name: string; steps: readonly Html[] }[] {
  const paste = html`Paste the address.`
  const signInIfAsked = html`If you chose the address with sign-in, the app opens our page: <a href="#sign-in">sign in</a>.`
  return [
    {
      name: 'Claude (web and desktop)',
      steps: [
        html`Open <em>Customize</em>, then <em>Connectors</em>. Press the plus sign and <em>Add custom connector</em>.`,
        html`${paste} If Claude asks about sign-in, choose <em>No sign-in</em> for the address without, and <em>Sign in now</em> for the other.`,
        signInIfAsked,
      ],
    },
    {
      name: 'ChatGPT (web)',
      steps: [
        html`Open <em>Settings</em>, then <em>Apps</em>. Under <em>Advanced settings</em>, switch on <em>Developer mode</em>.`,
        html`Press <em>Create app</em>. ${paste} As authentication choose <em>None</em> for the address without sign-in, and <em>OAuth</em> for the other.`,
        signInIfAsked,
      ],
    },
    {
      name: 'Le Chat',
      steps: [
        html`Open <em>Connectors</em>, press <em>Add Connector</em>, and choose <em>Custom MCP Connector</em>.`,
        html`Type <code>plainpath</code> as the name. ${paste} Press <em>Connect</em>.`,
        signInIfAsked,
      ],
    },
    {
      name: 'Grok and Gemini',
      steps: [
        html`In the settings, look for <em>Connectors</em> or custom apps, and add your own.`,
        paste,
        signInIfAsked,
      ],
    },
    {
      name: 'VS Code',
      steps: [
        html`Open the command palette and choose <em>MCP: Add Server</em>, then <em>HTTP</em>.`,
        html`${paste} Type <code>plainpath</code> as the name.`,
        signInIfAsked,
      ],
    },
    {
      name: 'Cursor',
      steps: [
        html`Open the file <code>~/.cursor/mcp.json</code>.`,
        html`Write, with the address that you chose: <code>{"mcpServers": {"plainpath": {"url": "${open}"}}}</code>`,
        html`Open <em>Customize</em>, then <em>MCPs</em>, and switch it on. ${signInIfAsked}`,
      ],
    },
    {
      name: 'Claude Code',
      steps: [
        html`Run, with the address that you chose: <code>claude mcp add --transport http plainpath ${open}</code>`,
        html`Start <code>claude</code> and type <code>/mcp</code>.`,
        signInIfAsked,
      ],
    },
    {
      name: 'Codex',
      steps: [
        html`Run, with the address that you chose: <code>codex mcp add plainpath --url ${open}</code>`,
        html`For the address with sign-in, run <code>codex mcp login plainpath</code>.`,
        signInIfAsked,
      ],
    },
    {
      name: 'Gemini CLI',
      steps: [
        html`Run, with the address that you chose: <code>gemini mcp add --transport http plainpath ${open}</code>`,
        html`For the address with sign-in, start <code>gemini</code> and type <code>/mcp auth plainpath</code>.`,
        signInIfAsked,
      ],
    },
    {
      name: 'MCP Inspector',
      steps: [
        html`Run <code>npx @modelcontextprotocol/inspector</code>.`,
        html`Choose <em>Streamable HTTP</em>. ${paste}`,
        html`Press <em>Connect</em>. ${signInIfAsked}`,
      ],
    },
  ]
}
