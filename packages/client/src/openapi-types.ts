/* oxlint-disable */
// Written by "npm run generate" from packages/metadata/openapi.json.
export interface paths {
    "/guides": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List published immigration guides with slugs and summaries
         * @description With `q` it searches them. Public: no token is needed. One that is sent must be valid, and then the limits are those of its client.
         */
        get: operations["listGuides"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/guides/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read one guide as JSON, or as Markdown
         * @description With `Accept: text/markdown` the whole guide comes as one Markdown text. A guide that was retired is answered 410 `guide-retired`, and `successor` names what to read instead. Public: no token is needed. One that is sent must be valid, and then the limits are those of its client.
         */
        get: operations["getGuide"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/answers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a question from the guides, or hand the person to an attorney
         * @description Ask in two steps. First send the question alone. If the response has `check`, put these questions to the person, and again send the same question with their answers as `facts`. If you know more of the person than the question says, read `GET /triggers` and send as `facts` what they told you: a fact can add a hand-off, and never takes one away. It is deterministic and uses no language model: every sentence is one of a guide, of a trigger or a fixed text. The question is neither stored nor logged. While our staff has paused answers it is 503 `answers-paused`, with `findHelp`. Public: no token is needed, and scripts of any origin may send it. A token that is sent must be valid.
         */
        post: operations["answerQuestion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/triggers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what hands a person to an attorney
         * @description Each trigger has a question that is answered with yes or no. Read them once, compare them with what the person has told you, and send what applies as `facts` of `POST /answers`. A trigger that our staff disabled is not listed. Public: no token is needed.
         */
        get: operations["listTriggers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/waitlist": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Join the product waitlist
         * @description Ask the person before you send their address. Addresses compare without regard to case; of any number of simultaneous requests with one address exactly one is answered 201. One mail follows a 201: the referral link, and pages to confirm and to leave; if it was never sent, a repeated request sends it again. If many mails to the domain are requested, it can be up to two days late; if too many are waiting, the response is 429 (`policy` `mails-waiting`). Referrals count once confirmed. Public: no token is needed.
         */
        post: operations["joinWaitlist"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/waitlist/forget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask to be taken off the waitlist
         * @description If the address is on the list, a mail with a link to a page that takes it off follows. The answer is the same for every address. If too many mails are waiting to be sent, it is 429 (`policy` `mails-waiting`). Public: no token is needed.
         */
        post: operations["forgetWaitlist"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/contact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a message to the people behind Plainpath
         * @description For a person who verified their e-mail address with the agent: answers go to that address, and a receipt too. Ask the person before you send. The message waits until `heldUntil` before it goes to staff; with an urgent hand-off trigger one minute at most. Until then it can be withdrawn, by DELETE or by the link in the receipt. Show `reply` to the person: when they can expect an answer, and where help is that cannot wait. With `Idempotency-Key` a repeated request sends nothing again: the same answer comes, 409 while the first is under way, 422 for another body, 409 `message-withdrawn` once the message was withdrawn. Without a key, the same message within 24 hours is 409 `duplicate-message`, which names the first one.
         */
        post: operations["sendContactMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/contact/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * See what became of a message
         * @description Only for the registration that sent it; for any other it is 404.
         */
        get: operations["getContactMessage"];
        put?: never;
        post?: never;
        /**
         * Withdraw a message before it is delivered
         * @description It is erased at once, and does not go to staff. Until `heldUntil` this always works. A message that was delivered cannot be withdrawn: 409 `already-delivered`, which says what can still be done, and by whom.
         */
        delete: operations["deleteContactMessage"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register an AI agent client for client_credentials access
         * @description No prior credential is needed. Register once for each person served and keep the answer: the secret is shown once. If the answer is lost, register again. The service chooses id, secret, scopes and grants. With `jwks` the agent has no secret and authenticates by `private_key_jwt`.
         */
        post: operations["registerAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What is known of the client that asks: identity, scopes and limits
         * @description Authenticate with `client_id` and `client_secret` by HTTP Basic; an agent with keys sends its assertion (RFC 7523) in the header `Client-Assertion` instead.
         */
        get: operations["getAgent"];
        put?: never;
        post?: never;
        /**
         * End the client and all its tokens at once, and erase its name
         * @description Authenticate with `client_id` and `client_secret` by HTTP Basic; an agent with keys sends its assertion (RFC 7523) in the header `Client-Assertion` instead. No request that begins after the answer succeeds with a token of this client.
         */
        delete: operations["deleteAgent"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/jwks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Replace the public keys of the client; its secret ends
         * @description Authenticate with `client_id` and `client_secret` by HTTP Basic; an agent with keys sends its assertion (RFC 7523) in the header `Client-Assertion` instead. The body is the whole new set, one to three public keys. From the answer on a key that is not in the set is refused. Where the set lacks a key that the client had, or takes the place of its secret, all tokens of the client have ended, since nobody knows which were got with what went. A set that only adds keys ends no token. Within seconds, at most 30, the client authenticates with the new keys only, by `private_key_jwt`: until then the token endpoint may still take its old secret, or not know a new key yet, and what it gives has ended already. If the answer is lost, try the new key, and send the set again.
         *
         *     With a key that it cannot sign with, a client locks itself out for good. `proof` shows beforehand that it can: a JWT that the new key signed, or a list of one for each new key, each used once. Its header is `typ` `jwks-proof+jwt`, `alg` and `kid`; its claims are `iss` (the `client_id`), `aud` (the address of this endpoint), `iat`, `exp` (at most 300 seconds after `iat`), `jti` and `jkts`, the thumbprints (RFC 7638) of all keys of the set. A mistake in it is 400 `invalid-key-proof`, and nothing changes. Without proof of each new key the answer has a `warning`.
         */
        put: operations["replaceAgentKeys"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a second secret; the first ends 7 days later
         * @description Authenticate with `client_id` and `client_secret` by HTTP Basic; an agent with keys sends its assertion (RFC 7523) in the header `Client-Assertion` instead. No body is read. Both secrets work until the old one ends, after 7 days or by `DELETE /api/agent/secrets/{id}`. A client has at most two: 409 `too-many-secrets`. If the answer is lost, find the new secret in `GET /api/agent`, end it, and ask again. An agent with keys has no secrets: 409 `client-has-keys`.
         */
        post: operations["createAgentSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/secrets/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End a secret of the client, and its tokens, at once
         * @description Authenticate with `client_id` and `client_secret` by HTTP Basic; an agent with keys sends its assertion (RFC 7523) in the header `Client-Assertion` instead. Once this is answered the secret opens nothing. All tokens of the client end with it, since nobody knows which were got with which secret: get another with the secret that is left, which has no end any more. The last secret cannot be ended: 409 `last-secret`.
         */
        delete: operations["deleteAgentSecret"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask a person, by e-mail, to confirm that you act for them
         * @description Authenticate with `client_id` and `client_secret` by HTTP Basic; an agent with keys sends its assertion (RFC 7523) in the header `Client-Assertion` instead. A mail with one link goes to the address; show the person the `match_phrase`, and ask them for the code that the page behind the link shows. The answer is the same for every address, and says nothing of whether a mail went. If many mails to the domain are requested, the mail can be up to 23 hours late, and its link then works beyond `expires_at`; if too many are waiting, the response is 429 (`policy` `mails-waiting`). Asking again supersedes the attempt before.
         */
        post: operations["beginClaim"];
        /**
         * End the claim, with its assertions and tokens, and an attempt that is open
         * @description Authenticate with `client_id` and `client_secret` by HTTP Basic; an agent with keys sends its assertion (RFC 7523) in the header `Client-Assertion` instead. The address is erased. The client itself and its other tokens stay.
         */
        delete: operations["endClaim"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/claim/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give back the code that the person read to you
         * @description Authenticate with `client_id` and `client_secret` by HTTP Basic; an agent with keys sends its assertion (RFC 7523) in the header `Client-Assertion` instead. Five codes in all per attempt; a wrong one is 400 `otp-invalid` with `attempts_remaining`. Before the person let the page show a code: 409 `code-not-shown`, which counts as none. That is the answer, too, when the mail could not be delivered, until the link ends: then 410 `claim-expired`.
         */
        post: operations["completeClaim"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/assertion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get another identity assertion while the claim stands
         * @description Authenticate with `client_id` and `client_secret` by HTTP Basic; an agent with keys sends its assertion (RFC 7523) in the header `Client-Assertion` instead. The assertion says that the person behind this client controls a mailbox; it holds no address, lasts up to 24 hours, and only this client can exchange it. Without a claim: 409 `no-claim`.
         */
        post: operations["createAssertion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get an access token (RFC 6749)
         * @description Authenticate by HTTP Basic (`client_secret_basic`), or send `client_id` and `client_secret` as form fields (`client_secret_post`), or, as an agent with keys, `client_assertion` and `client_assertion_type` (`private_key_jwt`). Not two of them. A token for what reaches a person (`contact:write`) comes only with the jwt-bearer grant: send the `identity_assertion` that you were given when a person confirmed you.
         */
        post: operations["createToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End an access token at once (RFC 7009)
         * @description Authenticate by HTTP Basic (`client_secret_basic`), or send `client_id` and `client_secret` as form fields (`client_secret_post`), or, as an agent with keys, `client_assertion` and `client_assertion_type` (`private_key_jwt`). Not two of them. A client ends its own tokens only. Once this is answered 200, no request that begins later succeeds with the token.
         */
        post: operations["revokeToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Health check for monitoring
         * @description Answers 200 as long as guides can be read, `degraded` when a part that other operations need does not work.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        GuideHistoryLine: {
            /**
             * Format: date
             * @description The day the text changed.
             */
            date: string;
            /** @description The version in which it changed. */
            version: number;
            /** @description Begins with `Corrected: `, `Added: ` or `Removed: `. */
            text: string;
        };
        GuideListing: {
            /** @description Names the guide in addresses: lower-case words joined by hyphens. */
            slug: string;
            title: string;
            summary: string;
            /**
             * Format: date
             * @description The day the text last changed.
             */
            updated: string;
            /** @description The day an attorney reviewed the guide; null until then. */
            reviewed: string | null;
            /**
             * Format: uri
             * @description The page for people.
             */
            url: string;
            /**
             * Format: uri
             * @description The guide as JSON, or as Markdown with `Accept: text/markdown`.
             */
            apiUrl: string;
            /** @description Of a search: the part of the guide that answers best, as plain text. */
            snippet?: string;
            /** @description Of a search: the section that `snippet` is of. */
            section?: {
                heading: string;
                /**
                 * Format: uri
                 * @description The section on the page for people.
                 */
                url: string;
            };
        };
        GuideSource: {
            title: string;
            /**
             * Format: uri
             * @description The official page.
             */
            url: string;
            /** @description Who publishes the page. */
            agency: string;
            /**
             * @description What the source is; decides how many days a reading of it counts.
             * @enum {string}
             */
            kind: "statute" | "regulation" | "form-instructions" | "agency-page" | "contact";
            /**
             * Format: date
             * @description The same day as `copyFrom`. Nobody verified the page on this day.
             */
            checked: string;
            /**
             * Format: date
             * @description The date of the copy of the page from which the statements were read; the first possible day if only a month or a period is known. The page may have changed since.
             */
            copyFrom: string;
            /** @description What kind of copy was read, and how its day is known. */
            checkedBy: string;
            /** @description For how many days after `checked` the reading counts. */
            limitDays: number;
            /** @description True when it was checked more than `limitDays` ago. */
            stale: boolean;
        };
        JoinWaitlistRequest: {
            /** Format: email */
            email: string;
            /** @description Slug of the person who referred this one. One that is nobody’s is accepted. */
            referredBySlug?: string | null;
        };
        RegisterAgentRequest: {
            /** @description Free-form name of the agent, shown to people as unverified. Empty counts as none. */
            client_name?: string | null;
            /** @description The kind of registration; only `anonymous` is offered, and it may be left out. */
            type?: string | null;
            /** @description Public keys (RFC 7591). An agent that sends them gets no secret and authenticates by `private_key_jwt`. */
            jwks?: {
                /** @description One to three public keys, P-256 or Ed25519. */
                keys: ({
                    /** @description `EC` or `OKP`. */
                    kty: string;
                    /** @description `P-256` or `Ed25519`. */
                    crv: string;
                    /** @description 32 bytes, base64url. */
                    x: string;
                    /** @description 32 bytes, base64url; for P-256 only. */
                    y?: string | null;
                    /** @description The thumbprint of the key (RFC 7638) when absent. */
                    kid?: string | null;
                    /** @description `ES256` for P-256; `EdDSA` or `Ed25519` for Ed25519. */
                    alg?: string | null;
                    /** @description `sig` when present. */
                    use?: string | null;
                    /** @description Holds `verify` when present. */
                    key_ops?: string[] | null;
                } & {
                    [key: string]: unknown;
                })[];
            } | null;
            /** @description Not offered: keys are sent as `jwks`. */
            jwks_uri?: unknown;
        };
        /**
         * @example {
         *       "grant_type": "client_credentials"
         *     }
         * @example {
         *       "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
         *       "assertion": "eyJhbGciOiJFUzI1NiIsInR5cCI6ImlkZW50aXR5LWFzc2VydGlvbitqd3QifQ.e30.c2lnbmF0dXJl",
         *       "scope": "guides:read waitlist:write contact:write"
         *     }
         */
        TokenRequest: {
            /**
             * @description `client_credentials`, or with an `assertion` `urn:ietf:params:oauth:grant-type:jwt-bearer`.
             * @enum {string}
             */
            grant_type: "client_credentials" | "urn:ietf:params:oauth:grant-type:jwt-bearer";
            /** @description The `identity_assertion` of a claim. Required by the jwt-bearer grant, else ignored. */
            assertion?: string;
            /** @description Scopes separated by spaces. Absent: all that the grant gives. Too much is narrowed. */
            scope?: string;
            /** @description Absent, or exactly the API root (RFC 8707). */
            resource?: string;
            /** @description With `client_secret`, instead of HTTP Basic. */
            client_id?: string;
            client_secret?: string;
            /** @description A JWT signed with a key of the client (RFC 7523), used once, at most five minutes old. */
            client_assertion?: string;
            /**
             * @description Goes with `client_assertion`.
             * @constant
             */
            client_assertion_type?: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        } & ({
            /** @constant */
            grant_type: "client_credentials";
        } | {
            /** @constant */
            grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer";
            assertion: string;
        });
        RevokeRequest: {
            /** @description The access token to end. */
            token: string;
            token_type_hint?: string;
            /** @description With `client_secret`, instead of HTTP Basic. */
            client_id?: string;
            client_secret?: string;
            /** @description A JWT signed with a key of the client (RFC 7523), used once, at most five minutes old. */
            client_assertion?: string;
            /**
             * @description Goes with `client_assertion`.
             * @constant
             */
            client_assertion_type?: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        };
        BeginClaimRequest: {
            /**
             * Format: email
             * @description The address of the person you act for. Ask them before you send it.
             */
            email?: string | null;
            /**
             * Format: email
             * @description The same under another name.
             */
            login_hint?: string | null;
        };
        CompleteClaimRequest: {
            /** @description The six digits that the person read to you, as a string. Blanks and hyphens do not count. */
            otp?: string | null;
            /** @description The same under another name. */
            user_code?: string | null;
            /** @description Your newest attempt when left out. */
            claim_attempt_id?: string | null;
        };
        Guide: {
            /** @description Names the guide in addresses: lower-case words joined by hyphens. */
            slug: string;
            /**
             * Format: uri
             * @description The page for people, with the published version.
             */
            url: string;
            title: string;
            summary: string;
            /** @description Markdown. `[n]` points at the n-th of `sources`. */
            body: string;
            /** @description The official pages that the guide rests on. */
            sources: components["schemas"]["GuideSource"][];
            /**
             * Format: date
             * @description The day the text last changed.
             */
            updated: string;
            /** @description The day an attorney reviewed the guide; null until then. */
            reviewed: string | null;
            /** @description True when at least one statement is stale: look at its sources first. */
            stale: boolean;
            /** @description How many sentences and list items state something. */
            statements: number;
            /** @description How many of them have only sources that are stale, or none. */
            staleStatements: number;
            /** @description Links and phone numbers in the text that no source supports: nobody checked them. */
            notChecked: string[];
            /** @description Newest first: what was corrected, added or removed. People may have acted on the old text. */
            history: components["schemas"]["GuideHistoryLine"][];
            /** @description Grows with every change of the text. */
            version: number;
            /** @description BCP 47. */
            language: string;
            /** @description Show it with whatever you take from the guide. */
            disclaimer: string;
            /** @description When this guide is not enough and a licensed attorney is needed. */
            talkToAnAttorneyWhen: string[];
        };
        GuideList: {
            /** @description Published guides only: by slug, or the best first when `q` is sent. */
            guides: components["schemas"]["GuideListing"][];
            /** @description The cursor of the next page; null on the last one. Opaque. */
            next: string | null;
        };
        JoinedWaitlist: {
            /** @constant */
            status: "joined";
            /** @description Names the entry in its referral link. */
            referralSlug: string;
            /**
             * Format: uri
             * @description The link to give to others.
             */
            referralUrl: string;
        };
        AlreadyOnWaitlist: {
            /** @constant */
            status: "already_joined";
        };
        RegisteredAgent: {
            client_id: string;
            /** @description Present when the agent gave one. */
            client_name?: string;
            /**
             * @description How the person behind the agent is known.
             * @enum {string}
             */
            identity_type: "anonymous" | "verified_email";
            /** @description Grants that the token endpoint accepts from it. */
            grant_types: string[];
            /** @description Scopes that its tokens may have. */
            scopes: ("guides:read" | "waitlist:write" | "contact:write")[];
            /** @description The same scopes, separated by spaces (RFC 7591). */
            scope: string;
            /** @description Seconds since 1970. */
            client_id_issued_at: number;
            /** Format: uri */
            token_endpoint: string;
            /**
             * Format: uri
             * @description The API that its tokens are for (RFC 8707).
             */
            resource: string;
            /**
             * Format: date-time
             * @description When the client ends unless it gets a token before: 7 days after it registered, later 90 days after its last token. In a flood of registrations a client that never got a token may end sooner, from an hour on.
             */
            idle_expiry: string;
            /**
             * Format: uri
             * @description Where to ask a person to confirm the agent, by e-mail.
             */
            claim_url: string;
            /** @description Scopes that a token for a confirmed agent may have. */
            post_claim_scopes: ("guides:read" | "waitlist:write" | "contact:write")[];
            /**
             * @description 0: the secret has no fixed end (RFC 7591).
             * @constant
             */
            client_secret_expires_at: 0;
            /**
             * @description `client_secret_post` is accepted too.
             * @constant
             */
            token_endpoint_auth_method: "client_secret_basic";
            /** @description Shown once, here. Keep it, and keep it out of logs. */
            client_secret: string;
        };
        RegisteredKeyAgent: {
            client_id: string;
            /** @description Present when the agent gave one. */
            client_name?: string;
            /**
             * @description How the person behind the agent is known.
             * @enum {string}
             */
            identity_type: "anonymous" | "verified_email";
            /** @description Grants that the token endpoint accepts from it. */
            grant_types: string[];
            /** @description Scopes that its tokens may have. */
            scopes: ("guides:read" | "waitlist:write" | "contact:write")[];
            /** @description The same scopes, separated by spaces (RFC 7591). */
            scope: string;
            /** @description Seconds since 1970. */
            client_id_issued_at: number;
            /** Format: uri */
            token_endpoint: string;
            /**
             * Format: uri
             * @description The API that its tokens are for (RFC 8707).
             */
            resource: string;
            /**
             * Format: date-time
             * @description When the client ends unless it gets a token before: 7 days after it registered, later 90 days after its last token. In a flood of registrations a client that never got a token may end sooner, from an hour on.
             */
            idle_expiry: string;
            /**
             * Format: uri
             * @description Where to ask a person to confirm the agent, by e-mail.
             */
            claim_url: string;
            /** @description Scopes that a token for a confirmed agent may have. */
            post_claim_scopes: ("guides:read" | "waitlist:write" | "contact:write")[];
            /**
             * @description Present when all keys have the same.
             * @enum {string}
             */
            token_endpoint_auth_signing_alg?: "ES256" | "EdDSA" | "Ed25519";
            /** @description Its public keys, each with its `kid`. */
            jwks: {
                keys: {
                    /** @enum {string} */
                    kty: "EC" | "OKP";
                    /** @enum {string} */
                    crv: "P-256" | "Ed25519";
                    x: string;
                    y?: string;
                    /** @description Send it in the header of an assertion. */
                    kid: string;
                    /**
                     * @description What assertions are signed with.
                     * @enum {string}
                     */
                    alg: "ES256" | "EdDSA" | "Ed25519";
                    /** @constant */
                    use: "sig";
                }[];
            };
            /** @constant */
            token_endpoint_auth_method: "private_key_jwt";
        };
        AgentDescription: {
            client_id: string;
            /** @description Present when the agent gave one. */
            client_name?: string;
            /**
             * @description How the person behind the agent is known.
             * @enum {string}
             */
            identity_type: "anonymous" | "verified_email";
            /** @description Grants that the token endpoint accepts from it. */
            grant_types: string[];
            /** @description Scopes that its tokens may have. */
            scopes: ("guides:read" | "waitlist:write" | "contact:write")[];
            /** @description The same scopes, separated by spaces (RFC 7591). */
            scope: string;
            /** @description Seconds since 1970. */
            client_id_issued_at: number;
            /** Format: uri */
            token_endpoint: string;
            /**
             * Format: uri
             * @description The API that its tokens are for (RFC 8707).
             */
            resource: string;
            /**
             * Format: date-time
             * @description When the client ends unless it gets a token before: 7 days after it registered, later 90 days after its last token. In a flood of registrations a client that never got a token may end sooner, from an hour on.
             */
            idle_expiry: string;
            /**
             * Format: uri
             * @description Where to ask a person to confirm the agent, by e-mail.
             */
            claim_url: string;
            /** @description Scopes that a token for a confirmed agent may have. */
            post_claim_scopes: ("guides:read" | "waitlist:write" | "contact:write")[];
            /** @description The claim, while a person has confirmed the agent. */
            registration_id?: string;
            /** Format: date-time */
            claim_expires_at?: string;
            /**
             * @description 0: the secret has no fixed end (RFC 7591).
             * @constant
             */
            client_secret_expires_at?: 0;
            /** @description Its secrets that are accepted, the oldest first; at most two. */
            secrets?: {
                /** Format: uuid */
                secret_id: string;
                /** Format: date-time */
                created_at: string;
                /**
                 * Format: date-time
                 * @description From then on it is refused. Absent: no end is set.
                 */
                ends_at?: string;
            }[];
            /**
             * @description With `client_secret_basic`, `client_secret_post` is accepted too.
             * @enum {string}
             */
            token_endpoint_auth_method: "client_secret_basic" | "private_key_jwt";
            /**
             * @description Present when all keys have the same.
             * @enum {string}
             */
            token_endpoint_auth_signing_alg?: "ES256" | "EdDSA" | "Ed25519";
            /** @description Its public keys, each with its `kid`. */
            jwks?: {
                keys: {
                    /** @enum {string} */
                    kty: "EC" | "OKP";
                    /** @enum {string} */
                    crv: "P-256" | "Ed25519";
                    x: string;
                    y?: string;
                    /** @description Send it in the header of an assertion. */
                    kid: string;
                    /**
                     * @description What assertions are signed with.
                     * @enum {string}
                     */
                    alg: "ES256" | "EdDSA" | "Ed25519";
                    /** @constant */
                    use: "sig";
                }[];
            };
            /** @description What the client may ask of the authorization server. */
            limits: {
                /** @description As named in `RateLimit-Policy`. */
                policy: string;
                /** @description Requests in a window. */
                quota: number;
                window_seconds: number;
            }[];
        };
        TokenResponse: {
            /** @description Opaque. Send it as `Authorization: Bearer`. */
            access_token: string;
            /** @constant */
            token_type: "Bearer";
            /** @description Seconds. */
            expires_in: number;
            /** @description What the token may be used for; always told. */
            scope: string;
            /**
             * Format: date-time
             * @description When the client, not the token, ends unless it gets another token before. Register again after that.
             */
            client_expires_at: string;
        };
        Health: {
            /**
             * @description `degraded`: guides are answered, but a part below does not work.
             * @enum {string}
             */
            status: "ok" | "degraded";
            /** @description Version of the API. */
            version: string;
            checks: {
                /**
                 * @description Needed by the waitlist.
                 * @enum {string}
                 */
                database: "ok" | "failed";
                /**
                 * @description The authorization server; needed by requests with a token.
                 * @enum {string}
                 */
                auth: "ok" | "failed";
            };
            /** @description What `POST /answers` does now. */
            answers: {
                /**
                 * @description `paused`: our staff stopped answers. `unavailable`: this instance has not read yet what our staff turned off.
                 * @enum {string}
                 */
                status: "ok" | "paused" | "unavailable";
                /** @description Ids of sections that are not shown. */
                withdrawnSections: string[];
                /** @description Ids of triggers that are not looked for. */
                disabledTriggers: string[];
            };
        };
        Problem: {
            /**
             * Format: uri
             * @description The page that says what the error means and what to do next.
             */
            type: string;
            title: string;
            status: number;
            /** @description What is wrong in this request, and what to do next. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @description The kind of error. Decide by it. */
            code: string;
            /** @description Name it when you report a fault. */
            request_id: string;
            /** @description For invalid input: all its mistakes. */
            errors?: {
                /** @description A JSON pointer into the body (`#/email`), or `?limit`. */
                pointer: string;
                detail: string;
            }[];
        };
        AgentProblem: {
            /**
             * Format: uri
             * @description The page that says what the error means and what to do next.
             */
            type: string;
            title: string;
            status: number;
            /** @description What is wrong in this request, and what to do next. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @description The kind of error. Decide by it. */
            code: string;
            /** @description Name it when you report a fault. */
            request_id: string;
            /** @description For invalid input: all its mistakes. */
            errors?: {
                /** @description A JSON pointer into the body (`#/email`), or `?limit`. */
                pointer: string;
                detail: string;
            }[];
            /** @description The error code of OAuth 2.0. Each `code` has one; several may share it. */
            error: string;
            error_description: string;
        };
        OAuthError: {
            /** @description The error code of OAuth 2.0. Each `code` has one; several may share it. */
            error: string;
            error_description: string;
            /**
             * Format: uri
             * @description The page that says what the error means and what to do next.
             */
            error_uri: string;
            /** @description The kind of error. Decide by it. */
            code: string;
        };
        BegunClaim: {
            /** @description The id that the claim will have. */
            registration_id: string;
            claim_attempt_id: string;
            /** @constant */
            status: "initiated";
            /** @description Show these two words to the person: the page behind the mailed link shows the same. */
            match_phrase: string;
            /**
             * Format: date-time
             * @description Until then the mailed link works.
             */
            expires_at: string;
            delivery: {
                /** @constant */
                method: "email";
                /** @description The address, mostly hidden. */
                to: string;
            };
            /** @description Digits of the code that the page shows to the person. */
            otp_length: number;
            /** @description Codes that you may send in all. */
            attempts_allowed: number;
            /** @description Seconds until you may ask again for the same mailbox, however its address is spelled. */
            resend_after: number;
        };
        CompletedClaim: {
            registration_id: string;
            claim_attempt_id: string;
            /** @constant */
            status: "completed";
            /** @enum {string} */
            identity_type: "anonymous" | "verified_email";
            /** @description A JWT that your client can exchange for tokens. */
            identity_assertion: string;
            /**
             * Format: date-time
             * @description The end of the assertion.
             */
            expires: string;
            /**
             * Format: date-time
             * @description The end of the claim, unless somebody ends it before.
             */
            claim_expires_at: string;
            grant_types: string[];
            /** @description Scopes that a token for the assertion may have. */
            scopes: ("guides:read" | "waitlist:write" | "contact:write")[];
            /** @description The same scopes, separated by spaces. */
            scope: string;
            /** Format: uri */
            token_endpoint: string;
        };
    };
    responses: {
        /** @description A failure (RFC 9457): `code` says which, `detail` what to do next. */
        Problem: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                Allow: components["headers"]["Allow"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "https://plainpath.example/problems/invalid-request",
                 *       "title": "The request is not valid",
                 *       "status": 400,
                 *       "detail": "#/email: must be an e-mail address such as ana@example.org.",
                 *       "instance": "/api/waitlist",
                 *       "code": "invalid-request",
                 *       "request_id": "0199f3c2-5b7e-7c1a-9a37-3f0d6f2f9c11",
                 *       "errors": [
                 *         {
                 *           "pointer": "#/email",
                 *           "detail": "must be an e-mail address such as ana@example.org"
                 *         }
                 *       ]
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A failure (RFC 9457), with `error` and `error_description` for OAuth clients. */
        AgentProblem: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                Allow: components["headers"]["Allow"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "https://plainpath.example/problems/invalid-client",
                 *       "title": "Client authentication failed",
                 *       "status": 401,
                 *       "detail": "The client is unknown, or its credentials are not accepted.",
                 *       "instance": "/api/agent",
                 *       "code": "invalid-client",
                 *       "request_id": "0199f3c2-5b7e-7c1a-9a37-3f0d6f2f9c11",
                 *       "error": "invalid_client",
                 *       "error_description": "The client is unknown, or its credentials are not accepted."
                 *     }
                 */
                "application/problem+json": components["schemas"]["AgentProblem"];
            };
        };
        /** @description A failure (RFC 6749, section 5.2), always JSON. */
        OAuthError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                Allow: components["headers"]["Allow"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "invalid_scope",
                 *       "error_description": "This client cannot have any of the requested scopes.",
                 *       "error_uri": "https://plainpath.example/problems/invalid-scope",
                 *       "code": "invalid-scope"
                 *     }
                 */
                "application/json": components["schemas"]["OAuthError"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description The `X-Request-Id` of the request, or one made for it. */
        "X-Request-Id": string;
        /** @description What is left of each limit (draft-ietf-httpapi-ratelimit-headers). */
        RateLimit: string;
        /** @description The limits that were counted (draft-ietf-httpapi-ratelimit-headers). */
        "RateLimit-Policy": string;
        /** @description Send it as `If-None-Match`: 304 says that nothing changed. */
        ETag: string;
        /** @description With 429 and 503: seconds to wait. */
        "Retry-After": number;
        /** @description With 401 and 403: the scheme, and for tokens the scope and `resource_metadata`. */
        "WWW-Authenticate": string;
        /** @description With 405: the methods of this address. */
        Allow: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listGuides: {
        parameters: {
            query?: {
                /** @description How many guides to list; 100 unless given. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string;
                /** @description Looks for these words, a question in plain English too, and lists the best guide first, each with a `snippet`. Knows form numbers and everyday words, and forgives spelling. Not with `cursor`. */
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The guides, by slug; with `q` the best first. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "guides": [
                     *         {
                     *           "slug": "work-permit",
                     *           "title": "How to get a work permit",
                     *           "summary": "Who can ask for a work permit, which form to send, and where the fee is.",
                     *           "updated": "2026-11-20",
                     *           "reviewed": null,
                     *           "url": "https://plainpath.example/guides/work-permit",
                     *           "apiUrl": "https://plainpath.example/api/guides/work-permit"
                     *         }
                     *       ],
                     *       "next": null
                     *     }
                     */
                    "application/json": components["schemas"]["GuideList"];
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    getGuide: {
        parameters: {
            query?: {
                /** @description An earlier version, with the text as it was served then; the one that is published unless given. What is stale is judged today. */
                version?: number;
            };
            header?: never;
            path: {
                /** @description Names the guide in addresses: lower-case words joined by hyphens. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The guide, with its sources. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "slug": "work-permit",
                     *       "url": "https://plainpath.example/guides/work-permit",
                     *       "title": "How to get a work permit",
                     *       "summary": "Who can ask for a work permit, which form to send, and where the fee is.",
                     *       "body": "A work permit shows that you may work in the United States. [1]",
                     *       "sources": [
                     *         {
                     *           "title": "Employment Authorization",
                     *           "url": "https://www.uscis.gov/employment-authorization",
                     *           "agency": "U.S. Citizenship and Immigration Services",
                     *           "kind": "agency-page",
                     *           "checked": "2026-06-26",
                     *           "copyFrom": "2026-06-26",
                     *           "checkedBy": "sentences quoted word for word from the page and saved that day by a third party",
                     *           "limitDays": 200,
                     *           "stale": false
                     *         }
                     *       ],
                     *       "updated": "2026-11-20",
                     *       "reviewed": null,
                     *       "stale": false,
                     *       "statements": 1,
                     *       "staleStatements": 0,
                     *       "notChecked": [],
                     *       "history": [
                     *         {
                     *           "date": "2026-11-23",
                     *           "version": 2,
                     *           "text": "Corrected: asking for a new card does not, as a rule, give you more time to work."
                     *         }
                     *       ],
                     *       "version": 2,
                     *       "language": "en",
                     *       "disclaimer": "This guide is information, not legal advice.",
                     *       "talkToAnAttorneyWhen": [
                     *         "You are in removal proceedings."
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Guide"];
                    "text/markdown": string;
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    answerQuestion: {
        parameters: {
            query?: {
                /** @description `true` adds the rules and scores that decided. */
                explain?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description A question in plain English, 1 to 1000 characters. Leave out names and numbers of documents. */
                    question: string;
                    /** @description What the person has said, by trigger. `true` hands the person to an attorney; `false` removes the question from `check`. */
                    facts?: {
                        [key: string]: boolean;
                    } | null;
                };
            };
        };
        responses: {
            /** @description `information`: passages, and questions to put to the person. `hand_off`: why an attorney is needed, what to do now, and where to find help. `out_of_scope`: no guide answers, and why. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "outcome": "information",
                     *       "passages": [
                     *         {
                     *           "id": "renew-green-card#when-to-renew",
                     *           "guide": "renew-green-card",
                     *           "heading": "When to renew",
                     *           "text": "You can renew within six months before the day on which your card ends.",
                     *           "markdown": "You can renew within six months before the day on which your card ends. [1]",
                     *           "url": "https://plainpath.example/guides/renew-green-card#when-to-renew",
                     *           "answers": true,
                     *           "sources": [
                     *             {
                     *               "title": "Replace Your Green Card",
                     *               "url": "https://www.uscis.gov/green-card/after-we-grant-your-green-card/replace-your-green-card",
                     *               "agency": "U.S. Citizenship and Immigration Services",
                     *               "checked": "2026-11-20",
                     *               "stale": false
                     *             }
                     *           ]
                     *         }
                     *       ],
                     *       "check": [
                     *         {
                     *           "trigger": "long-absence",
                     *           "ask": "Were you, or will you be, outside the US for a year or more at one time?"
                     *         }
                     *       ],
                     *       "disclaimer": "This guide is information, not legal advice.",
                     *       "answersVersion": "Z9COYlQiZL3nWFyJ"
                     *     }
                     */
                    "application/json": {
                        /** @enum {string} */
                        outcome: "information" | "hand_off" | "out_of_scope";
                        /** @description The best first. */
                        passages: {
                            /** @description `guide#section`; the introduction of a guide has its slug alone. */
                            id: string;
                            /** @description Names the guide in addresses: lower-case words joined by hyphens. */
                            guide: string;
                            heading: string;
                            /** @description Plain text. */
                            text: string;
                            /** @description `[n]` points at the n-th of `sources`. */
                            markdown: string;
                            /**
                             * Format: uri
                             * @description The section on the page for people.
                             */
                            url: string;
                            /** @description False when the subject fits but the section does not cover what was asked: see `limits`. */
                            answers: boolean;
                            sources: {
                                title: string;
                                /**
                                 * Format: uri
                                 * @description The official page.
                                 */
                                url: string;
                                /** @description Who publishes the page. */
                                agency: string;
                                /**
                                 * Format: date
                                 * @description The same day as `copyFrom`. Nobody verified the page on this day.
                                 */
                                checked: string;
                                /** @description True when it was checked more than `limitDays` ago. */
                                stale: boolean;
                            }[];
                        }[];
                        handOff?: {
                            /** @description The most urgent first. */
                            reasons: {
                                /** @description The id of a trigger. */
                                trigger: string;
                                /** @enum {string} */
                                urgency: "urgent" | "high" | "normal";
                                /** @description Why an attorney is needed. */
                                why: string;
                                /** @description The person's words, without long numbers. */
                                matched: string[];
                                /** @enum {string} */
                                because: "question" | "facts";
                                source: {
                                    title: string;
                                    /** Format: uri */
                                    url: string;
                                };
                            }[];
                            doNow: string[];
                            findHelp: {
                                title: string;
                                /** Format: uri */
                                url?: string;
                                phone?: string;
                            }[];
                            contact: {
                                /** @enum {string} */
                                topic: "question" | "attorney" | "correction" | "other";
                                /** Format: uri */
                                url: string;
                            };
                        };
                        outOfScope?: {
                            /** @enum {string} */
                            reason: "other-country" | "other-subject" | "no-guide" | "asks-to-deceive" | "not-understood";
                            /** @description What to tell the person. In two languages if the question is in Spanish. */
                            notices: {
                                language: string;
                                text: string;
                            }[];
                            /** @description Official pages on the subject. */
                            links: {
                                title: string;
                                /** Format: uri */
                                url: string;
                            }[];
                            findHelp: {
                                title: string;
                                /** Format: uri */
                                url?: string;
                                phone?: string;
                            }[];
                            /** @description A guide whose subject is near. It does not answer the question. */
                            nearGuide?: {
                                title: string;
                                /** Format: uri */
                                url: string;
                            };
                        };
                        /** @description Put these to the person and ask again with `facts`. The likeliest first. */
                        check: {
                            /** @description The id of a trigger. */
                            trigger: string;
                            ask: string;
                        }[];
                        /** @description What the passages do not say. */
                        limits?: string;
                        /** @description Show it with whatever you take from the answer. */
                        disclaimer: string;
                        /** @description Changes with the guides, the triggers and the rules. The same question, facts, version and day give the same response. */
                        answersVersion: string;
                        /** @description Only with `?explain=true`. */
                        explain?: {
                            /** @enum {string} */
                            language: "en" | "es" | "other";
                            /** @description What decided, in the order in which it was looked at. */
                            rules: string[];
                            questionTypes: string[];
                            scores: {
                                id: string;
                                score: number;
                                section: number;
                                ask: number;
                                guide: number;
                                typeMatches: boolean;
                            }[];
                        };
                    };
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    listTriggers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The triggers, the most urgent first. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "triggers": [
                     *         {
                     *           "id": "long-absence",
                     *           "urgency": "normal",
                     *           "why": "A long time outside the United States can end permanent residence.",
                     *           "ask": "Were you, or will you be, outside the US for a year or more at one time?",
                     *           "source": {
                     *             "title": "International Travel as a Permanent Resident",
                     *             "url": "https://www.uscis.gov/green-card/after-we-grant-your-green-card/international-travel-as-a-permanent-resident"
                     *           },
                     *           "version": "pX3mZb0qkLr7sT2v"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        /** @description The most urgent first. */
                        triggers: {
                            /**
                             * @description Its name in `facts` of `POST /answers`.
                             * @enum {string}
                             */
                            id: "detention-ice" | "missed-hearing" | "abuse-victim" | "crime-or-trafficking-victim" | "asylum-deadline" | "missed-deadline" | "child-alone" | "removal-order" | "removal-proceedings" | "asylum-fear" | "risky-travel" | "aging-out-child" | "denial-or-appeal" | "criminal-history" | "smuggling" | "status-violation" | "relationship-changed" | "waiver-needed" | "unlawful-presence" | "misrepresentation-fraud" | "false-citizenship-or-voting" | "long-absence" | "security-or-persecutor" | "scam-victim" | "public-charge" | "citizenship-dispute";
                            /** @enum {string} */
                            urgency: "urgent" | "high" | "normal";
                            /** @description Why an attorney is needed. */
                            why: string;
                            /** @description The question, answered with yes or no, that decides whether it applies. */
                            ask: string;
                            source: {
                                title: string;
                                /** Format: uri */
                                url: string;
                            };
                            /** @description Changes when anything of the trigger does, also the words by which it is found. */
                            version: string;
                        }[];
                    };
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    joinWaitlist: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JoinWaitlistRequest"];
            };
        };
        responses: {
            /** @description The email is already on the waitlist. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "already_joined"
                     *     }
                     */
                    "application/json": components["schemas"]["AlreadyOnWaitlist"];
                };
            };
            /** @description Joined the waitlist. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "joined",
                     *       "referralSlug": "k3v7q2mzt5ndw4ha",
                     *       "referralUrl": "https://plainpath.example/?ref=k3v7q2mzt5ndw4ha"
                     *     }
                     */
                    "application/json": components["schemas"]["JoinedWaitlist"];
                };
            };
            /** @description Invalid request: `errors` names each mistake. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "type": "https://plainpath.example/problems/invalid-request",
                     *       "title": "The request is not valid",
                     *       "status": 400,
                     *       "detail": "#/email: must be an e-mail address such as ana@example.org.",
                     *       "instance": "/api/waitlist",
                     *       "code": "invalid-request",
                     *       "request_id": "0199f3c2-5b7e-7c1a-9a37-3f0d6f2f9c11",
                     *       "errors": [
                     *         {
                     *           "pointer": "#/email",
                     *           "detail": "must be an e-mail address such as ana@example.org"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    forgetWaitlist: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** Format: email */
                    email: string;
                };
            };
        };
        responses: {
            /** @description Accepted. A mail follows if the address is on the waitlist. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "accepted"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "accepted";
                    };
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    sendContactMessage: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, another one for each message: 1 to 200 printable characters without blanks, good for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description `attorney` is also answered with what to prepare, and the official lists of attorneys.
                     * @enum {string}
                     */
                    topic: "question" | "attorney" | "correction" | "other";
                    /** @description What the person wants to say, 1 to 5000 characters. Leave out numbers of documents. */
                    message: string;
                    /** @description The guide that the message is about. */
                    guideSlug?: string | null;
                    /** @description Why the person needs a lawyer. Send it only if the person agrees: staff read it, and answer the most urgent messages first. */
                    handOff?: {
                        /** @description The ids of 1 to 10 hand-off triggers. */
                        triggers: ("detention-ice" | "missed-hearing" | "abuse-victim" | "crime-or-trafficking-victim" | "asylum-deadline" | "missed-deadline" | "child-alone" | "removal-order" | "removal-proceedings" | "asylum-fear" | "risky-travel" | "aging-out-child" | "denial-or-appeal" | "criminal-history" | "smuggling" | "status-violation" | "relationship-changed" | "waiver-needed" | "unlawful-presence" | "misrepresentation-fraud" | "false-citizenship-or-voting" | "long-absence" | "security-or-persecutor" | "scam-victim" | "public-charge" | "citizenship-dispute")[];
                    } | null;
                };
            };
        };
        responses: {
            /** @description Received. It is delivered by mail when the hold ends. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10",
                     *       "status": "received",
                     *       "heldUntil": "2026-11-20T12:10:00.000Z",
                     *       "reply": {
                     *         "expected": "People read every message. They answer by e-mail.",
                     *         "ifYouCannotWait": "Do not wait for our answer if somebody is in danger. Get help now:",
                     *         "findHelp": [
                     *           {
                     *             "title": "If you are in danger now",
                     *             "phone": "911"
                     *           },
                     *           {
                     *             "title": "Immigration court case information",
                     *             "url": "https://acis.eoir.justice.gov/en/",
                     *             "phone": "1-800-898-7180"
                     *           }
                     *         ]
                     *       }
                     *     }
                     */
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        /** @constant */
                        status: "received";
                        /**
                         * Format: date-time
                         * @description When the message goes to staff. Until then it can be withdrawn.
                         */
                        heldUntil: string;
                        /** @description When the person can expect an answer, and what to do until then. Show it to them. */
                        reply: {
                            expected: string;
                            ifYouCannotWait: string;
                            findHelp: {
                                title: string;
                                /** Format: uri */
                                url?: string;
                                phone?: string;
                            }[];
                        };
                        /** @description Only for the topic `attorney`: what to have ready. */
                        prepare?: string[];
                        /** @description Only for the topic `attorney`: the official lists. */
                        attorneyLists?: {
                            title: string;
                            /** Format: uri */
                            url: string;
                            about: string;
                        }[];
                    };
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    getContactMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether it was delivered or erased. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10",
                     *       "status": "delivered",
                     *       "heldUntil": "2026-11-20T12:10:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** Format: uuid */
                        id: string;
                        /** @enum {string} */
                        status: "received" | "delivered" | "erased";
                        /**
                         * Format: date-time
                         * @description When the message goes to staff. Until then it can be withdrawn.
                         */
                        heldUntil: string;
                    };
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    deleteContactMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Erased. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    registerAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RegisterAgentRequest"];
            };
        };
        responses: {
            /** @description The agent is registered. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "client_id": "agt_3q2-7wEhtsm0aKX9dPz1Vg",
                     *       "client_name": "Example Agent",
                     *       "identity_type": "anonymous",
                     *       "grant_types": [
                     *         "client_credentials",
                     *         "urn:ietf:params:oauth:grant-type:jwt-bearer"
                     *       ],
                     *       "scopes": [
                     *         "guides:read",
                     *         "waitlist:write"
                     *       ],
                     *       "scope": "guides:read waitlist:write",
                     *       "client_id_issued_at": 1795183200,
                     *       "token_endpoint": "https://plainpath.example/oauth/token",
                     *       "claim_url": "https://plainpath.example/api/agent/claim",
                     *       "post_claim_scopes": [
                     *         "guides:read",
                     *         "waitlist:write",
                     *         "contact:write"
                     *       ],
                     *       "resource": "https://plainpath.example/api",
                     *       "idle_expiry": "2026-11-27T14:00:00.000Z",
                     *       "client_secret_expires_at": 0,
                     *       "token_endpoint_auth_method": "client_secret_basic",
                     *       "client_secret": "pps_nYw0x2C8mFh5Rk7Tq1Vb4Zd6Gj9Lp3Ss8Uu0Ww2Yy4A"
                     *     }
                     */
                    "application/json": components["schemas"]["RegisteredAgent"] | components["schemas"]["RegisteredKeyAgent"];
                };
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    getAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The client, without its secret. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "client_id": "agt_3q2-7wEhtsm0aKX9dPz1Vg",
                     *       "client_name": "Example Agent",
                     *       "identity_type": "anonymous",
                     *       "grant_types": [
                     *         "client_credentials",
                     *         "urn:ietf:params:oauth:grant-type:jwt-bearer"
                     *       ],
                     *       "scopes": [
                     *         "guides:read",
                     *         "waitlist:write"
                     *       ],
                     *       "scope": "guides:read waitlist:write",
                     *       "client_id_issued_at": 1795183200,
                     *       "token_endpoint": "https://plainpath.example/oauth/token",
                     *       "claim_url": "https://plainpath.example/api/agent/claim",
                     *       "post_claim_scopes": [
                     *         "guides:read",
                     *         "waitlist:write",
                     *         "contact:write"
                     *       ],
                     *       "resource": "https://plainpath.example/api",
                     *       "idle_expiry": "2026-11-27T14:00:00.000Z",
                     *       "client_secret_expires_at": 0,
                     *       "token_endpoint_auth_method": "client_secret_basic",
                     *       "secrets": [
                     *         {
                     *           "secret_id": "6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10",
                     *           "created_at": "2026-11-20T14:00:00.000Z",
                     *           "ends_at": "2026-11-27T15:00:00.000Z"
                     *         },
                     *         {
                     *           "secret_id": "0b8f6f0a-3f51-4c1e-8d0c-7f6f9a1f2b3c",
                     *           "created_at": "2026-11-20T15:00:00.000Z"
                     *         }
                     *       ],
                     *       "limits": [
                     *         {
                     *           "policy": "token-client",
                     *           "quota": 120,
                     *           "window_seconds": 60
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["AgentDescription"];
                };
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    deleteAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The client and its tokens have ended. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    replaceAgentKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description One to three public keys, P-256 or Ed25519. */
                    keys: ({
                        /** @description `EC` or `OKP`. */
                        kty: string;
                        /** @description `P-256` or `Ed25519`. */
                        crv: string;
                        /** @description 32 bytes, base64url. */
                        x: string;
                        /** @description 32 bytes, base64url; for P-256 only. */
                        y?: string | null;
                        /** @description The thumbprint of the key (RFC 7638) when absent. */
                        kid?: string | null;
                        /** @description `ES256` for P-256; `EdDSA` or `Ed25519` for Ed25519. */
                        alg?: string | null;
                        /** @description `sig` when present. */
                        use?: string | null;
                        /** @description Holds `verify` when present. */
                        key_ops?: string[] | null;
                    } & {
                        [key: string]: unknown;
                    })[];
                    /**
                     * @description A JWT of the type `jwks-proof+jwt` that the new key signed, or a list of one for each new key. Without it the keys are taken unproven, and the answer has a `warning`.
                     * @example eyJhbGciOiJFUzI1NiIsInR5cCI6Imp3a3MtcHJvb2Yrand0In0.e30.c2lnbmF0dXJl
                     */
                    proof?: (string | string[]) | null;
                };
            };
        };
        responses: {
            /** @description The client, with its new keys. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "client_id": "agt_3q2-7wEhtsm0aKX9dPz1Vg",
                     *       "client_name": "Example Agent",
                     *       "identity_type": "anonymous",
                     *       "grant_types": [
                     *         "client_credentials",
                     *         "urn:ietf:params:oauth:grant-type:jwt-bearer"
                     *       ],
                     *       "scopes": [
                     *         "guides:read",
                     *         "waitlist:write"
                     *       ],
                     *       "scope": "guides:read waitlist:write",
                     *       "client_id_issued_at": 1795183200,
                     *       "token_endpoint": "https://plainpath.example/oauth/token",
                     *       "claim_url": "https://plainpath.example/api/agent/claim",
                     *       "post_claim_scopes": [
                     *         "guides:read",
                     *         "waitlist:write",
                     *         "contact:write"
                     *       ],
                     *       "resource": "https://plainpath.example/api",
                     *       "idle_expiry": "2026-11-27T14:00:00.000Z",
                     *       "token_endpoint_auth_method": "private_key_jwt",
                     *       "token_endpoint_auth_signing_alg": "ES256",
                     *       "jwks": {
                     *         "keys": [
                     *           {
                     *             "kty": "EC",
                     *             "crv": "P-256",
                     *             "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                     *             "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
                     *             "kid": "2026-11",
                     *             "alg": "ES256",
                     *             "use": "sig"
                     *           }
                     *         ]
                     *       },
                     *       "limits": [
                     *         {
                     *           "policy": "token-client",
                     *           "quota": 120,
                     *           "window_seconds": 60
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        client_id: string;
                        /** @description Present when the agent gave one. */
                        client_name?: string;
                        /**
                         * @description How the person behind the agent is known.
                         * @enum {string}
                         */
                        identity_type: "anonymous" | "verified_email";
                        /** @description Grants that the token endpoint accepts from it. */
                        grant_types: string[];
                        /** @description Scopes that its tokens may have. */
                        scopes: ("guides:read" | "waitlist:write" | "contact:write")[];
                        /** @description The same scopes, separated by spaces (RFC 7591). */
                        scope: string;
                        /** @description Seconds since 1970. */
                        client_id_issued_at: number;
                        /** Format: uri */
                        token_endpoint: string;
                        /**
                         * Format: uri
                         * @description The API that its tokens are for (RFC 8707).
                         */
                        resource: string;
                        /**
                         * Format: date-time
                         * @description When the client ends unless it gets a token before: 7 days after it registered, later 90 days after its last token. In a flood of registrations a client that never got a token may end sooner, from an hour on.
                         */
                        idle_expiry: string;
                        /**
                         * Format: uri
                         * @description Where to ask a person to confirm the agent, by e-mail.
                         */
                        claim_url: string;
                        /** @description Scopes that a token for a confirmed agent may have. */
                        post_claim_scopes: ("guides:read" | "waitlist:write" | "contact:write")[];
                        /** @description The claim, while a person has confirmed the agent. */
                        registration_id?: string;
                        /** Format: date-time */
                        claim_expires_at?: string;
                        /**
                         * @description 0: the secret has no fixed end (RFC 7591).
                         * @constant
                         */
                        client_secret_expires_at?: 0;
                        /** @description Its secrets that are accepted, the oldest first; at most two. */
                        secrets?: {
                            /** Format: uuid */
                            secret_id: string;
                            /** Format: date-time */
                            created_at: string;
                            /**
                             * Format: date-time
                             * @description From then on it is refused. Absent: no end is set.
                             */
                            ends_at?: string;
                        }[];
                        /**
                         * @description With `client_secret_basic`, `client_secret_post` is accepted too.
                         * @enum {string}
                         */
                        token_endpoint_auth_method: "client_secret_basic" | "private_key_jwt";
                        /**
                         * @description Present when all keys have the same.
                         * @enum {string}
                         */
                        token_endpoint_auth_signing_alg?: "ES256" | "EdDSA" | "Ed25519";
                        /** @description Its public keys, each with its `kid`. */
                        jwks?: {
                            keys: {
                                /** @enum {string} */
                                kty: "EC" | "OKP";
                                /** @enum {string} */
                                crv: "P-256" | "Ed25519";
                                x: string;
                                y?: string;
                                /** @description Send it in the header of an assertion. */
                                kid: string;
                                /**
                                 * @description What assertions are signed with.
                                 * @enum {string}
                                 */
                                alg: "ES256" | "EdDSA" | "Ed25519";
                                /** @constant */
                                use: "sig";
                            }[];
                        };
                        /** @description What the client may ask of the authorization server. */
                        limits: {
                            /** @description As named in `RateLimit-Policy`. */
                            policy: string;
                            /** @description Requests in a window. */
                            quota: number;
                            window_seconds: number;
                        }[];
                        /** @description Present when a new key was taken without proof that the client can sign with it. */
                        warning?: string;
                    };
                };
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    createAgentSecret: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The new secret, and when the old one ends. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "client_id": "agt_3q2-7wEhtsm0aKX9dPz1Vg",
                     *       "secret_id": "0b8f6f0a-3f51-4c1e-8d0c-7f6f9a1f2b3c",
                     *       "client_secret": "pps_4vQm2Xz8Kf0Ld6Hs1Bn5Gt9Wc3Rj7Ye0Ua4Io8Pq2Sk",
                     *       "client_secret_expires_at": 0,
                     *       "created_at": "2026-11-20T15:00:00.000Z",
                     *       "secrets": [
                     *         {
                     *           "secret_id": "6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10",
                     *           "created_at": "2026-11-20T14:00:00.000Z",
                     *           "ends_at": "2026-11-27T15:00:00.000Z"
                     *         },
                     *         {
                     *           "secret_id": "0b8f6f0a-3f51-4c1e-8d0c-7f6f9a1f2b3c",
                     *           "created_at": "2026-11-20T15:00:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        /** Format: uuid */
                        secret_id: string;
                        /** Format: date-time */
                        created_at: string;
                        client_id: string;
                        /** @description Shown once, here. Keep it, and keep it out of logs. */
                        client_secret: string;
                        /**
                         * @description 0: the secret has no fixed end (RFC 7591).
                         * @constant
                         */
                        client_secret_expires_at: 0;
                        /** @description Its secrets that are accepted, the oldest first; at most two. */
                        secrets: {
                            /** Format: uuid */
                            secret_id: string;
                            /** Format: date-time */
                            created_at: string;
                            /**
                             * Format: date-time
                             * @description From then on it is refused. Absent: no end is set.
                             */
                            ends_at?: string;
                        }[];
                    };
                };
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    deleteAgentSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The secret has ended. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    beginClaim: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BeginClaimRequest"];
            };
        };
        responses: {
            /** @description The attempt is kept. If mail may go to the address, one will. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "registration_id": "clm_3q2-7wEhtsm0aKX9dPz1Vg",
                     *       "claim_attempt_id": "cla_Yw0x2C8mFh5Rk7Tq1Vb4Zd",
                     *       "status": "initiated",
                     *       "match_phrase": "amber river",
                     *       "expires_at": "2026-11-21T14:00:00.000Z",
                     *       "delivery": {
                     *         "method": "email",
                     *         "to": "a•••@example.org"
                     *       },
                     *       "otp_length": 6,
                     *       "attempts_allowed": 5,
                     *       "resend_after": 60
                     *     }
                     */
                    "application/json": components["schemas"]["BegunClaim"];
                };
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    endClaim: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description There is no claim, and no open attempt. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    completeClaim: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompleteClaimRequest"];
            };
        };
        responses: {
            /** @description The person has confirmed you, for 30 days. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "registration_id": "clm_3q2-7wEhtsm0aKX9dPz1Vg",
                     *       "claim_attempt_id": "cla_Yw0x2C8mFh5Rk7Tq1Vb4Zd",
                     *       "status": "completed",
                     *       "identity_type": "verified_email",
                     *       "identity_assertion": "eyJhbGciOiJFUzI1NiIsInR5cCI6ImlkZW50aXR5LWFzc2VydGlvbitqd3QifQ.e30.c2lnbmF0dXJl",
                     *       "expires": "2026-11-21T14:04:00.000Z",
                     *       "claim_expires_at": "2026-12-20T14:04:00.000Z",
                     *       "grant_types": [
                     *         "client_credentials",
                     *         "urn:ietf:params:oauth:grant-type:jwt-bearer"
                     *       ],
                     *       "scopes": [
                     *         "guides:read",
                     *         "waitlist:write",
                     *         "contact:write"
                     *       ],
                     *       "scope": "guides:read waitlist:write contact:write",
                     *       "token_endpoint": "https://plainpath.example/oauth/token"
                     *     }
                     */
                    "application/json": components["schemas"]["CompletedClaim"];
                };
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    createAssertion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An identity assertion. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "registration_id": "clm_3q2-7wEhtsm0aKX9dPz1Vg",
                     *       "identity_type": "verified_email",
                     *       "identity_assertion": "eyJhbGciOiJFUzI1NiIsInR5cCI6ImlkZW50aXR5LWFzc2VydGlvbitqd3QifQ.e30.c2lnbmF0dXJl",
                     *       "expires": "2026-11-21T14:04:00.000Z",
                     *       "claim_expires_at": "2026-12-20T14:04:00.000Z",
                     *       "grant_types": [
                     *         "client_credentials",
                     *         "urn:ietf:params:oauth:grant-type:jwt-bearer"
                     *       ],
                     *       "scopes": [
                     *         "guides:read",
                     *         "waitlist:write",
                     *         "contact:write"
                     *       ],
                     *       "scope": "guides:read waitlist:write contact:write",
                     *       "token_endpoint": "https://plainpath.example/oauth/token"
                     *     }
                     */
                    "application/json": {
                        registration_id: string;
                        /** @enum {string} */
                        identity_type: "anonymous" | "verified_email";
                        /** @description A JWT that your client can exchange for tokens. */
                        identity_assertion: string;
                        /**
                         * Format: date-time
                         * @description The end of the assertion.
                         */
                        expires: string;
                        /**
                         * Format: date-time
                         * @description The end of the claim, unless somebody ends it before.
                         */
                        claim_expires_at: string;
                        grant_types: string[];
                        /** @description Scopes that a token for the assertion may have. */
                        scopes: ("guides:read" | "waitlist:write" | "contact:write")[];
                        /** @description The same scopes, separated by spaces. */
                        scope: string;
                        /** Format: uri */
                        token_endpoint: string;
                    };
                };
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    createToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": components["schemas"]["TokenRequest"];
            };
        };
        responses: {
            /** @description A token. It lasts an hour at most. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "access_token": "ppt_h4Jd8Kf0Lg2Zm6Xn1Cv5Bb9Qw3Er7Ty0Ui4Op8As2Df",
                     *       "token_type": "Bearer",
                     *       "expires_in": 3600,
                     *       "scope": "guides:read waitlist:write",
                     *       "client_expires_at": "2027-02-19T14:04:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["TokenResponse"];
                };
            };
            "4XX": components["responses"]["OAuthError"];
            default: components["responses"]["OAuthError"];
        };
    };
    revokeToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": components["schemas"]["RevokeRequest"];
            };
        };
        responses: {
            /** @description The token is revoked, or was not valid before. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /** @example {} */
                    "application/json": Record<string, never>;
                };
            };
            "4XX": components["responses"]["OAuthError"];
            default: components["responses"]["OAuthError"];
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The service is healthy. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "version": "0.1.0",
                     *       "checks": {
                     *         "database": "ok",
                     *         "auth": "ok"
                     *       },
                     *       "answers": {
                     *         "status": "ok",
                     *         "withdrawnSections": [],
                     *         "disabledTriggers": []
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Health"];
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
}
