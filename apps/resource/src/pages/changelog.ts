export interface Change {
  /** The day of the change, `YYYY-MM-DD`. */
  readonly day: string
  /** Inline Markdown. */
  readonly text: string
  /** The `operationId` of each added or removed operation. */
  readonly operations: readonly string[]
}

/**
 * The versions, newest first. `/changelog` groups the changes of a version by day, newest day first, and keeps this order within
 * a day. Add a change at the end of its version.
 */
export const RELEASES: readonly { readonly version: string; readonly changes: readonly Change[] }[] = [
  {
    version: '0.1.0',
    changes: [
      {
        day: '2026-11-22',
        text: 'The first version: plain-English guides to U.S. immigration, as pages, JSON and Markdown, with a search and a feed of changes. Each names its sources, and every earlier version stays available.',
        operations: ['listGuides', 'getGuide', 'getHealth'],
      },
      {
        day: '2026-11-23',
        text: 'Questions in plain English, on a page, by the API and as a tool: answered with sections of the guides and their sources, or handed to an attorney with the reason, what to do now and where to find help. No question is kept. The triggers of a hand-off can be listed.',
        operations: ['answerQuestion', 'listTriggers'],
      },
      {
        day: '2026-11-22',
        text: 'A waitlist, by a form and by the API, with a link to share. An e-mail lets people confirm or leave. Anyone on the list can request an e-mail with a link to leave it.',
        operations: ['joinWaitlist', 'forgetWaitlist'],
      },
      {
        day: '2026-11-22',
        text: 'Agents register themselves, get tokens with client credentials, revoke them, and delete their registration. An unused registration expires.',
        operations: ['registerAgent', 'getAgent', 'deleteAgent', 'createToken', 'revokeToken'],
      },
      {
        day: '2026-11-22',
        text: 'Agents rotate their secret without a gap, or use public keys instead of a secret.',
        operations: ['createAgentSecret', 'deleteAgentSecret', 'replaceAgentKeys'],
      },
      {
        day: '2026-11-23',
        text: 'When `PUT /api/agent/jwks` removes a key or a secret, its tokens are revoked; before, they stayed valid for up to an hour. The request may prove that the agent can sign with its new keys. Without proof, the response has a warning.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'Errors name the mistake in a client assertion. An assertion without `kid` works while a client has several keys. Errors of the OAuth endpoints have the member `code`, like all others. The response to a revocation is an empty JSON object; before, it had no body.',
        operations: [],
      },
      {
        day: '2026-11-22',
        text: 'A person confirms by e-mail that an agent acts for them, for 30 days, and can end this at any time.',
        operations: ['beginClaim', 'completeClaim', 'endClaim', 'createAssertion'],
      },
      {
        day: '2026-11-23',
        text: 'The problem `claim-failed` is gone: no agent learns whether an e-mail could be delivered. The response is `code-not-shown` until the person has let the page show a code, and `claim-expired` after the link has expired.',
        operations: [],
      },
      {
        day: '2026-11-22',
        text: 'Messages to the people behind Plainpath: from a person by a form, and from an agent that a person confirmed. A message that is sent again with its `Idempotency-Key` is stored once.',
        operations: ['sendContactMessage', 'getContactMessage', 'deleteContactMessage'],
      },
      {
        day: '2026-11-23',
        text: 'A message waits some minutes before it goes to our staff, and can be withdrawn until then, by the agent or by the link in the receipt. It can say why the person needs a lawyer, so that urgent messages are read first. The same message is not sent twice within a day. The response says when to expect a reply, and where to get help that cannot wait.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'When an agent withdraws a message before it goes to our staff, the person gets an e-mail, and the link in the receipt says so with 410; before, it was 404. The status of an erased message has no `heldUntil`. When a person’s confirmation has ended, token errors tell the agent to ask the person again only if the person wants it.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'When the daily limit of e-mails, to one domain or in total, is reached, further e-mails are sent later; before, they were dropped. Part of the limit is reserved for e-mails that a person requests. If too many e-mails are waiting, joining, leaving, writing by the form and beginning a verification are refused with 429. Joining again sends an e-mail that was never sent.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'The receipt of a message contains its text, and names the agent that sent it with a link that ends its access. When an agent’s access ends, the person gets one e-mail. An agent whose confirmation has ended gets an error that says so, and that it should not ask the person again on its own.',
        operations: [],
      },
      {
        day: '2026-11-22',
        text: 'Guides, search, the waitlist and messages as tools of the Model Context Protocol, at `/api/mcp`.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'Tools of the Model Context Protocol look up and withdraw a message. A tool that needs `contact:write` explains how to get it; before, the response was 403. The URL of the MCP server is a second identifier of the OAuth resource, with its own metadata, and `/mcp.md` shows how to connect.',
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
        text: 'All pages have the same navigation and a search. New pages: all guides by situation, urgent help and how to find a lawyer, also in Spanish, and every error. A search names the section that matched, and suggests similar words when it finds nothing.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'Guides show who they are for, a table of contents, each source behind its paragraph, related guides, and a link to report a mistake in each section. Pages about abuse, crime victims, detention and help, and the page to ask on, have a quick exit and say how to clear the browser history; browsers do not store them. /docs lists all operations, and can send requests that need no token.',
        operations: [],
      },
      {
        day: '2026-11-22',
        text: 'Documents that lead an agent from the home page to everything else: an API catalog, OpenAPI, auth.md, agent skills, llms.txt.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'auth.md is a short quick start. Verified e-mail and messages, keys, errors, and limits and lifetimes have documents of their own, with a full request and response for each step.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'The API description is smaller, and can be read in parts: `/openapi.json?operation=getGuide` has one operation with its schemas, `/openapi.json?tag=Guides` has all operations of a tag.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: '`GET /api/agent` and introspection say what an agent has proven: a domain, and that a person verified their e-mail. E-mails and pages show the verified domain of such an agent. These agents have higher limits, which all agents of a domain share.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'For agents: tokens can be bound to a key (DPoP, RFC 9449), so that a stolen token is useless; `dpop_bound_access_tokens` makes this mandatory. After an agent has received a bound token for `contact:write`, it needs a proof for that scope until it removes the requirement.',
        operations: ['deleteDpopRequiredScopes'],
      },
      {
        day: '2026-11-23',
        text: 'For agents: without registration, the https URL of a Client ID Metadata Document is a `client_id`. Its tokens expire with our copy of the document, after a day at most. `/auth/domain.md` and `/auth/dpop.md` have the commands.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'For operators: auth connects to public hosts on port 443 to fetch these documents, so outbound connections must be allowed. `agents refresh`, `block`, `unblock` and `blocks` act on such agents and their domains. During an upgrade, instances from before it refuse such agents.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'For people: /connect shows how to add Plainpath to Claude, ChatGPT and other chat apps, at an address without sign-in or at one with it. Sign-in is a code by e-mail, for 30 days, and each person can see and end their connections.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'For apps: /oauth/authorize accepts the authorization code flow with PKCE for known chat apps, which register or are known by the URL of their document; before, it always refused. A token for the MCP address with sign-in is valid only there.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'MCP clients that declare elicitation get the first check questions of answer_question as a form, except those about crime, abuse, fear or status.',
        operations: [],
      },
      {
        day: '2026-11-23',
        text: 'For developers: `packages/client` uses a key pair in place of a secret, and binds its tokens to it. The MCP server accepts bound tokens, and an MCP client can use the URL of its document.',
        operations: [],
      },
      {
        day: '2026-11-25',
        text: 'Passages of answers have the title of their guide (`guideTitle`), and their links are absolute. With a hand-off that is not urgent, sections that answer the general part of a question may be shown, with `answers: false`.',
        operations: [],
      },
      {
        day: '2026-11-25',
        text: 'The e-mail about a withdrawn message names the app and has a link that ends its access.',
        operations: [],
      },
      {
        day: '2026-11-26',
        text: 'Answers find the right section more often. A question that no guide covers may have `check`: questions to ask the person, since one of the answers may need an attorney.',
        operations: [],
      },
      {
        day: '2026-11-26',
        text: 'Beside a hand-off every passage has `answers: false`, and `limits` says that an attorney has to look at the case. A question that joins a second one with “and” or “or” no longer has a passage with `answers: true`.',
        operations: [],
      },
      {
        day: '2026-11-27',
        text: 'A question about thoughts of suicide gets a hand-off with the new trigger `suicide-risk` and the 988 Suicide & Crisis Lifeline. The lists of urgent help name this line, too.',
        operations: [],
      },
      {
        day: '2026-11-28',
        text: 'Short questions in formal words, as agents often ask them, are handed off more often when they state a trigger, such as a felony or a removal order. Some of them were answered from a guide before.',
        operations: [],
      },
      {
        day: '2026-11-28',
        text: 'If a message is withdrawn after a failed delivery, it is erased, but the response is 409 `message-may-be-delivered`, and the page and the e-mail say that our staff may have it; before, they said that it did not go to our staff.',
        operations: [],
      },
      {
        day: '2026-11-28',
        text: 'A short question that states a trigger in one sentence and asks something ordinary in another, such as “I have a misdemeanor. Can I travel with my green card?”, is handed off. Some of them were answered from a guide before.',
        operations: [],
      },
      {
        day: '2026-11-28',
        text: 'Caches no longer store searches: `GET /api/guides?q=` has `Cache-Control: no-store`. A request body may have 64 KiB; before, 16 KiB. So a message can have its 5,000 characters in every script, also in JSON that escapes them.',
        operations: [],
      },
      {
        day: '2026-11-28',
        text: 'Requests for a part of the API description, such as `/openapi.json?tag=Guides`, and searches and questions on our pages count against the limit `reads-anonymous` of their address, like reads of the API without a token; before, they did not. Requests for the whole description still do not.',
        operations: [],
      },
      {
        day: '2026-11-28',
        text: 'MCP: while answers are paused or unavailable, and when a limit of a tool is reached, the result is a tool error that names the help or the time to wait; before, the response was an HTTP error. Errors about arguments end in a code. A call with `facts` shows no form, and after a form the text names its answers as `facts`.',
        operations: [],
      },
      {
        day: '2026-11-28',
        text: 'Questions as people type them into a search box, such as “What is asylum?”, get a passage with `answers: true` more often, also the introduction of a guide. Fewer passages have it by mistake. “How do I bring my wife to the US?” is answered from a guide; before, it was handed off.',
        operations: [],
      },
    ],
  },
]
