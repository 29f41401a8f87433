export interface Change {
  /** On which it came, `YYYY-MM-DD`. */
  readonly day: string
  /** Markdown within a line. */
  readonly text: string
  /** The `operationId` of each operation that it brought, or took away. */
  readonly operations: readonly string[]
}

/** What each version brought, newest first; `/changelog` shows it. A change is added at the end of its version. */
export const RELEASES: readonly { readonly version: string; readonly changes: readonly Change[] }[] = [
  {
    version: '0.1.0',
    changes: [
      {
        day: '2026-11-22',
        text: 'The first version: plain-English guides to U.S. immigration, as pages, JSON and Markdown, with a search and a feed of changes. Each says its sources, and each earlier version of it can be had.',
        operations: ['listGuides', 'getGuide', 'getHealth'],
      },
      {
        day: '2026-11-23',
        text: 'Questions in plain English, on a page, by the API and as a tool: answered with sections of the guides and their sources, or handed to an attorney with the reason, what to do now and where to find help. No question is kept. The triggers of a hand-off can be listed.',
        operations: ['answerQuestion', 'listTriggers'],
      },
      {
        day: '2026-11-22',
        text: 'A waitlist, by a form and by the API, with a link to share. An e-mail lets people confirm, or leave. Anyone on the list can ask for an e-mail that takes them off it.',
        operations: ['joinWaitlist', 'forgetWaitlist'],
      },
      {
        day: '2026-11-22',
        text: 'Agents register themselves, get tokens with client credentials, give them back, and end their registration. One that is not used expires.',
        operations: ['registerAgent', 'getAgent', 'deleteAgent', 'createToken', 'revokeToken'],
      },
      {
        day: '2026-11-22',
        text: 'Agents change their secret without a gap, or bring public keys and have no secret.',
        operations: ['createAgentSecret', 'deleteAgentSecret', 'replaceAgentKeys'],
      },
      {
        day: '2026-11-23',
        text: 'Tokens end with the key, or the secret, that `PUT /api/agent/jwks` takes away; before, they lasted out their hour. The request may prove that the agent can sign with its new keys, and without proof the answer warns.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'Errors name the mistake in a client assertion. An assertion without `kid` works while a client has several keys. Errors of the OAuth endpoints have the member `code`, as all others do. The response to a revocation is an empty JSON object; before, it had no body.',
        operations: [],
      },
      {
        day: '2026-11-22',
        text: 'A person confirms by e-mail that an agent acts for them, for 30 days, and can end it at any time.',
        operations: ['beginClaim', 'completeClaim', 'endClaim', 'createAssertion'],
      },
      {
        day: '2026-11-23',
        text: 'The problem `claim-failed` is gone: no agent learns whether an e-mail could be delivered. Before the person has let the page show a code, the answer is `code-not-shown`, and `claim-expired` once the link has ended.',
        operations: [],
      },
      {
        day: '2026-11-22',
        text: 'Messages to the people behind Plainpath: from a person by a form, and from an agent that a person confirmed. One that is sent again with its `Idempotency-Key` is kept once.',
        operations: ['sendContactMessage', 'getContactMessage', 'deleteContactMessage'],
      },
      {
        day: '2026-11-23',
        text: 'A message waits some minutes before it goes to our staff, and can be withdrawn until then, by the agent or by the link in the receipt. It can say why the person needs a lawyer, so that urgent messages are read first. The same message is not sent twice within a day. The answer says when to expect a reply, and where to get help that cannot wait.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'When an agent withdraws a message before it goes to our staff, the person gets an e-mail, and the link in the receipt says so with 410; before, it was 404. The status of an erased message has no `heldUntil`. Errors for tokens say what to do when a person’s confirmation has ended: not to ask them again unless they want it.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'Once a day’s e-mails to a domain, or in all, are used up, further e-mails wait and go out later; before, they were dropped. A part is reserved for e-mails that a person asks for. If too many e-mails are waiting, joining, leaving, writing by the form and beginning a verification are refused with 429. Joining again sends an e-mail that was never sent.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'The receipt of a message contains its text, and names the agent that sent it with a link that ends its access. When an agent’s access ends, the person gets one e-mail. An agent whose confirmation has ended is told so, and asked not to ask the person again on its own.',
        operations: [],
      },
      {
        day: '2026-11-22',
        text: 'Guides, search, the waitlist and messages as tools of the Model Context Protocol, at `/api/mcp`.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'Tools of the Model Context Protocol look up and withdraw a message. A tool explains how to get `contact:write` if client credentials cannot give it; before, it responded 403. The address of the MCP server is a second name of the OAuth resource, with metadata of its own, and `/mcp.md` shows how to connect.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'A guide as JSON has the address of its page, absolute links, and for each source `copyFrom`, the date of the copy that was read. Lists and searches link the JSON of each guide as `apiUrl`.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'A client for JavaScript and TypeScript, in `packages/client` of the source code. /docs shows it beside curl.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'All pages have the same navigation and a search. New pages: all guides by situation, urgent help and how to find a lawyer, also in Spanish, and every error. A search names the section that matched, and offers near words when it finds nothing.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'Guides show who they are for, a table of contents, each source behind its paragraph, related guides, and a link to report a mistake in each section. Pages about abuse, crime victims, detention and help, and the page to ask on, have a quick exit, say how to clear the history, and are stored by no browser. /docs has a list of all operations beside the text, and sends requests that need no token.',
        operations: [],
      },
      {
        day: '2026-11-22',
        text: 'Documents that lead an agent from the home page to all of it: an API catalog, OpenAPI, auth.md, agent skills, llms.txt.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'auth.md is a short quick start. Verified e-mail and messages, keys, errors, and limits and lifetimes have documents of their own, with a full request and response for each step.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'The API description is smaller, and can be read in parts: `/openapi.json?operation=getGuide` has one operation and what it refers to, `/openapi.json?tag=Guides` has all operations of a tag.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: '`GET /api/agent` and introspection say what an agent has proven: a domain, and that a person verified their e-mail. E-mails and pages name an agent with a verified domain by that. Such agents have higher limits; all those of one domain share one.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'For agents: tokens can be bound to a key (DPoP, RFC 9449), so that a stolen one is useless; `dpop_bound_access_tokens` makes that compulsory. Once an agent got a bound token for `contact:write`, it gets that scope only with a proof, until it ends this itself.',
        operations: ['deleteDpopRequiredScopes'],
      },
      {
        day: '2026-11-23',
        text: 'For agents: without registration, the https URL of a Client ID Metadata Document is a `client_id`. Its tokens end with our copy of the document, after a day at most. `/auth/domain.md` and `/auth/dpop.md` have the commands.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'For operators: auth connects to public hosts on port 443 to fetch these documents, and needs a way out. `agents refresh`, `block`, `unblock` and `blocks` act on such agents and their domains. During an upgrade, instances from before it refuse such agents.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'For people: /connect shows how to add Plainpath to Claude, ChatGPT and other chat apps, at an address without sign-in or at one with it. Sign-in is a code by e-mail, for 30 days, and each person sees and ends all that they connected.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'For apps: /oauth/authorize accepts the authorization code flow with PKCE for known chat apps, which register or are known by the URL of their document; before, it always refused. A token for the MCP address with sign-in is good there alone.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'MCP clients that declare elicitation get the first check questions of answer_question as a form, but none about crime, abuse, fear or status.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'For developers: `packages/client` uses a key pair in place of a secret, and binds its tokens to it. The MCP server takes bound tokens, and an MCP client can use the URL of its document.',
        operations: [],
      },
    ],
  },
]
