import { durationIn, RULES } from '@plainpath/domain'
import { groupDigits } from './group-digits.ts'
import { type Html, html } from './html.ts'
import { keepTogether } from './keep-together.ts'

interface ConnectPage {
  /** The URL of the MCP server that requires sign-in. */
  readonly signedInUrl: string
  /** The URL of the public MCP server, which has no sign-in; undefined if this installation has no public server. */
  readonly publicUrl: string | undefined
  /** Links for developers, in display order. */
  readonly documents: readonly { readonly href: string; readonly text: string }[]
}

const EMAIL = keepTogether('e-mail')

/** Renders the body of `/connect`: the server addresses, how to connect an app, and how to end the connection. */
export function renderConnectPage({ signedInUrl, publicUrl, documents }: ConnectPage): Html {
  return html`<h1>Connect a chat app</h1>
<p class="lead">Ask about U.S. immigration in Claude, ChatGPT or another app. The app then answers from our guides, and names its sources.</p>
<p class="notice"><strong>The company behind the app sees what you type there</strong>, and may keep it. On our page <a href="/ask">Ask</a> we keep no question.</p>
<p class="urgent">In danger? <a href="/get-help">Get help now</a>. Detained? <a href="/get-help#detained">What to do</a></p>
<h2 id="addresses">Choose a web address to copy</h2>
${publicUrl !== undefined && renderPublicAddress(publicUrl)}
<h3>With sign-in</h3>
<pre><code>${signedInUrl}</code></pre>
<p>${publicUrl === undefined ? 'The app can ask questions, search the guides and read them.' : 'All of that, and more:'} The app can send a message to our staff for you, tell you what became of it, and take it back. To sign in, you type a code that we send to your ${EMAIL} address. There is no password.</p>
<h2 id="apps">Add it to your app</h2>
<p>Copy the address above. Menus change: if a name differs, look for connectors, apps or MCP servers. Some apps allow this only to an administrator, or only in a paid plan.</p>
${listApps({ signedInUrl, publicUrl }).map(({ name, steps }) => html`<h3>${name}</h3>\n<ol>\n${steps.map((step) => html`<li>${step}</li>\n`)}</ol>\n`)}
<h2 id="sign-in">When you sign in</h2>
<ol>
<li>Our page opens in your browser. It says which app asks, and where the result goes. <strong>Continue only if you yourself just connected that app.</strong> If not, press Deny.</li>
<li>Type your ${EMAIL} address. We send you a sign-in code.</li>
<li>Type the sign-in code into the same page, and press Allow. <strong>Never type the code into a chat</strong>, and do not tell it to anyone.</li>
</ol>
<h2 id="may">What the app may do</h2>
<ul>
<li>Send a message to our staff for you. We send you an ${EMAIL} about each one.</li>
<li>See what became of its messages, and take one back before our staff get it.</li>
</ul>
<p>It may not read your ${EMAIL}, change or see anything else, or act for you anywhere else. The permission ends after ${durationIn('day', RULES.verificationMs)}.</p>
<h2 id="end">End it</h2>
<p>Open the link in the ${EMAIL} that said that an app can send us messages for you, or in one about such a message. The page lists every app that you connected, and you can end one or all of them. That works at once, whatever the app does. Then remove the connection in the app too.</p>
<p>If you have none of them any more, <a href="/contact">write to us</a>.</p>
<h2 id="developers">For developers</h2>
<p>This is what a client finds at these addresses.</p>
<dl class="kept">
<dt>Both</dt>
<dd>The Model Context Protocol over Streamable HTTP, without sessions, in revision ${keepTogether('2026-07-28')} and those of 2025. Clients that declare elicitation in the newest revision get some check questions as a form.</dd>
${publicUrl !== undefined && html`<dt>Without sign-in</dt>\n<dd>Only tools that read. It never answers 401 and ignores <code>Authorization</code>. Its origin has no OAuth metadata.</dd>\n`}<dt>With sign-in</dt>
<dd>Every request without a valid token gets 401, with a challenge that names the metadata. The authorization server offers the authorization code grant with PKCE (S256), refresh tokens, and <code>iss</code> in each response (RFC 9207). A sign-in must be finished within ${durationIn('minute', RULES.signInMs)}. A token lasts ${durationIn('hour', RULES.appTokenMs)}. Each refresh replaces the refresh token, and the old one works for ${durationIn('minute', RULES.refreshGraceMs)} more; after that, its use ends the connection. After ${groupDigits(RULES.refreshTokens)} refresh tokens, the person has to connect again. There is one scope, <code>contact:write</code>.</dd>
<dt>Clients</dt>
<dd>Public clients, by a Client ID Metadata Document or by dynamic registration (RFC 7591). A registration that nobody signs in with for ${durationIn('day', RULES.idleMs)} expires. Redirect URIs are those of known apps, or on a loopback address with any port. If yours is refused, <a href="/contact">write to us</a>.</dd>
<dt>Agents without a browser</dt>
<dd>They register and use client credentials at another address: <a href="/mcp.md">how to connect an agent</a>.</dd>
</dl>
<ul>
${documents.map(({ href, text }) => html`<li><a href="${href}">${text}</a></li>\n`)}</ul>`
}

const renderPublicAddress = (address: string): Html => html`<h3>Without sign-in</h3>
<pre><code>${address}</code></pre>
<p>The app can ask questions, search the guides and read them. We do not learn who you are. Begin with this one.</p>
`

type Addresses = Pick<ConnectPage, 'signedInUrl' | 'publicUrl'>

/** Lists the apps, each with three steps. The steps follow the vendors' documentation as of September and October 2026. */
function listApps({
  signedInUrl,
  publicUrl,
}: Addresses): readonly { name: string; steps: readonly Html[] }[] {
  const exampleUrl = publicUrl ?? signedInUrl
  const claudeSignInChoice =
    publicUrl === undefined
      ? html`choose <em>Sign in now</em>`
      : html`choose <em>No sign-in</em> for the address without sign-in, and <em>Sign in now</em> for the other`
  const chatGptSignInChoice =
    publicUrl === undefined
      ? html`choose <em>OAuth</em>`
      : html`choose <em>None</em> for the address without sign-in, and <em>OAuth</em> for the other`
  const pasteStep = html`Paste the address.`
  const pageOpensText =
    publicUrl === undefined
      ? 'The app opens our page.'
      : 'If you chose the address with sign-in, the app opens our page.'
  const signInStep = html`${pageOpensText} See <a href="#sign-in">When you sign in</a>.`
  return [
    {
      name: 'Claude (web and desktop)',
      steps: [
        html`Open <em>Customize</em>, then <em>Connectors</em>. Press the plus sign and <em>Add custom connector</em>.`,
        html`${pasteStep} If Claude asks about sign-in, ${claudeSignInChoice}.`,
        signInStep,
      ],
    },
    {
      name: 'ChatGPT (web)',
      steps: [
        html`Open <em>Settings</em>, then <em>Apps</em>. Under <em>Advanced settings</em>, switch on <em>Developer mode</em>.`,
        html`Press <em>Create app</em>. ${pasteStep} For authentication, ${chatGptSignInChoice}.`,
        signInStep,
      ],
    },
    {
      name: 'Le Chat',
      steps: [
        html`Open <em>Connectors</em>, press <em>Add Connector</em>, and choose <em>Custom MCP Connector</em>.`,
        html`Type <code>plainpath</code> as the name. ${pasteStep} Press <em>Connect</em>.`,
        signInStep,
      ],
    },
    {
      name: 'Grok and Gemini',
      steps: [
        html`In the settings, look for <em>Connectors</em> or custom apps, and add your own.`,
        pasteStep,
        signInStep,
      ],
    },
    {
      name: 'VS Code',
      steps: [
        html`Open the command palette and choose <em>MCP: Add Server</em>, then <em>HTTP</em>.`,
        html`${pasteStep} Type <code>plainpath</code> as the name.`,
        signInStep,
      ],
    },
    {
      name: 'Cursor',
      steps: [
        html`Open the file <code>~/.cursor/mcp.json</code>.`,
        html`Write, with the address that you chose: <code>{"mcpServers": {"plainpath": {"url": "${exampleUrl}"}}}</code>`,
        html`Open <em>Customize</em>, then <em>MCPs</em>, and switch it on. ${signInStep}`,
      ],
    },
    {
      name: 'Claude Code',
      steps: [
        html`Run, with the address that you chose: <code>claude mcp add --transport http plainpath ${exampleUrl}</code>`,
        html`Start <code>claude</code> and type <code>/mcp</code>.`,
        signInStep,
      ],
    },
    {
      name: 'Codex',
      steps: [
        html`Run, with the address that you chose: <code>codex mcp add plainpath --url ${exampleUrl}</code>`,
        html`For the address with sign-in, run <code>codex mcp login plainpath</code>.`,
        signInStep,
      ],
    },
    {
      name: 'Gemini CLI',
      steps: [
        html`Run, with the address that you chose: <code>gemini mcp add --transport http plainpath ${exampleUrl}</code>`,
        html`For the address with sign-in, start <code>gemini</code> and type <code>/mcp auth plainpath</code>.`,
        signInStep,
      ],
    },
    {
      name: 'MCP Inspector',
      steps: [
        html`Run <code>npx @modelcontextprotocol/inspector</code>.`,
        html`Choose <em>Streamable HTTP</em>. ${pasteStep}`,
        html`Press <em>Connect</em>. ${signInStep}`,
      ],
    },
  ]
}
