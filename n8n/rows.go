package n8n

// The releases that most rows were read in: 1.123.0, 2.0.0, 2.20.0, 2.30.0 and
// 2.40.7.
const sinceOne = "1.123.0 to 2.40.7"

// rows are n8n's own answers. What is not here is in doubt.
//
// Everything that the Webhook node does for a request happens before n8n's
// WorkflowRunner.run, which begins the execution; so do the look-up of the webhook
// and the reading of the body, in dist/webhooks/webhook-helpers.js. From run
// onwards, n8n answers with a workflow's words (and the sandbox CSP), with the
// fixed texts of the lower half, or with "There was a problem executing the
// workflow", which also covers much that went wrong before.
var rows = []Row{
	{
		Name: "starting_up", Class: Refused, Seen: sinceOne,
		Source: "abstract-server.js, setupHealthCheck: a middleware before all routes, while the database migrates",
		match:  sent(200, is("n8n is starting up. Please wait")),
	},
	{
		Name: "database_not_ready", Class: Refused, Seen: sinceOne,
		Source: "abstract-server.js, setupHealthCheck: a middleware before all routes, while the database is away",
		match:  framework(503, "503", is("Database is not ready!"), absent),
	},
	{
		Name: "no_route", Class: Refused, Seen: sinceOne,
		Source: "finalhandler 2.1.0, index.js (Express 5.1.0): no route took the request, because n8n has not mounted its webhooks yet, or serves none in this process (N8N_DISABLE_PRODUCTION_MAIN_PROCESS), or under another prefix",
		match:  page(404, cannot),
	},
	{
		Name: "not_registered", Class: Refused, Seen: sinceOne,
		Source: "webhooks/live-webhooks.js, findWebhook, with errors/response-errors/webhook-not-found.error.js: no active workflow has the webhook",
		match:  framework(404, "404", notRegistered, is(hintProduction)),
	},
	{
		Name: "workflow_gone", Class: Refused, Seen: sinceOne + ` ("Published version" since 2.30.0)`,
		Source: "webhooks/live-webhooks.js, loadWebhookExecutionData, and webhooks/webhook-helpers.js, the first lines of executeWebhook: the workflow went away meanwhile",
		match:  framework(404, "404", workflowGone, absent),
	},
	{
		Name: "node_gone", Class: Refused, Seen: sinceOne,
		Source: "webhooks/live-webhooks.js, executeWebhook: the webhook's node went away meanwhile",
		match:  framework(404, "404", is("Could not find node to process webhook."), absent),
	},
	{
		Name: "oauth_unavailable", Class: Refused, Seen: "2.40.7",
		Source: "n8n-workflow 2.40.1, n8n-oauth2-auth.js: n8n cannot check the token now",
		match:  sent(503, is("OAuth token validation is not available")),
	},

	{
		Name: "wrong_method", Class: Rejected, Seen: sinceOne,
		Source: "webhooks/live-webhooks.js, findWebhook and the check of the node's type, with errors/response-errors/webhook-not-found.error.js",
		match:  framework(404, "404", wrongMethod, absent),
	},
	{
		Name: "test_webhook", Class: Rejected, Seen: sinceOne,
		Source: "webhooks/test-webhooks.js, getWebhookMethods: the prefix is that of n8n's test webhooks",
		match:  framework(404, "404", notTested, is(hintTest)),
	},
	{
		Name: "unparsable", Class: Rejected, Seen: sinceOne,
		Source: "middlewares/body-parser.js, parseBody, which webhook-helpers.js calls before the node runs; the hint is the parser's message",
		match:  framework(422, "422", is("Failed to parse request body"), like(`(?s:.+)`)),
	},
	{
		Name: "form_too_large", Class: Rejected, Seen: "2.30.0 to 2.40.7",
		Source: "webhooks/webhook-form-data.js, mapFormParseError, before the node runs",
		match:  framework(413, "413", is("The submitted form data exceeds the allowed size."), absent),
	},
	{
		Name: "form_unparsable", Class: Rejected, Seen: "2.40.7",
		Source: "webhooks/webhook-form-data.js, mapFormParseError, before the node runs",
		match:  framework(400, "400", is("The submitted form data could not be parsed."), absent),
	},
	{
		Name: "engine_v2", Class: Rejected, Seen: "2.40.7",
		Source: "webhooks/engine-v2-webhooks.js, assertSupported and assertPayloadSupported, which webhook-helpers.js calls before the run",
		match:  framework(400, "400", engineV2, absent),
	},
	{
		Name: "ip_not_allowed", Class: Rejected, Seen: sinceOne + ` ("whitelisted" in 1.123.0 and 2.0.0)`,
		Source: "n8n-nodes-base, nodes/Webhook/Webhook.node.js, before any output; often N8N_PROXY_HOPS is missing",
		match:  written(403, absent, is("IP is not allowed to access the webhook!", "IP is not whitelisted to access the webhook!")),
	},
	{
		Name: "unauthenticated", Class: Rejected, Seen: sinceOne,
		Source: "n8n-nodes-base, nodes/Webhook/utils.js, validateWebhookAuthentication, with error.js and Webhook.node.js, before any output",
		match:  written(401, basic, is("Authorization is required!", "Authentication data is wrong!", "No token provided")),
	},
	{
		Name: "unauthorised", Class: Rejected, Seen: sinceOne,
		Source: "n8n-nodes-base, nodes/Webhook/utils.js, validateWebhookAuthentication, and the option ignoreBots in Webhook.node.js, before any output",
		match:  written(403, basic, is("Authorization data is wrong!")),
	},
	{
		Name: "bad_token", Class: Rejected, Seen: sinceOne,
		Source: "n8n-nodes-base, nodes/Webhook/utils.js, validateWebhookAuthentication: the message of jsonwebtoken 9.0.3, before any output",
		match:  written(403, basic, badToken),
	},
	{
		Name: "no_credential", Class: Rejected, Seen: sinceOne,
		Source: "n8n-nodes-base, nodes/Webhook/utils.js, validateWebhookAuthentication: the node has authentication and no credential, before any output",
		match:  written(500, basic, is("No authentication data defined on node!")),
	},
	{
		Name: "oauth_unauthenticated", Class: Rejected, Seen: "2.40.7",
		Source: "n8n-workflow 2.40.1, n8n-oauth2-auth.js, before any output",
		match:  written(401, bearer(`(?:, error="invalid_token")?`), is("")),
	},
	{
		Name: "oauth_unauthorised", Class: Rejected, Seen: "2.40.7",
		Source: "n8n-workflow 2.40.1, n8n-oauth2-auth.js, before any output",
		match:  written(403, bearer(`, error="insufficient_scope"`), is("")),
	},
	{
		Name: "credentials_missing", Class: Rejected, Seen: "2.40.7",
		Source: "webhooks/webhook-helpers.js, checkTriggerCredentialStatus: it returns before the run",
		match:  credentialsMissing,
	},
	{
		Name: "trigger_unauthenticated", Class: Rejected, Seen: "2.40.7",
		Source: "n8n-nodes-base 2.40.2, 29 trigger nodes (GithubTrigger.node.js, StripeTrigger.node.js …): the signature is wrong; they return noWebhookResponse and no output",
		match:  sent(401, is("Unauthorized")),
	},
	{
		Name: "trigger_unauthorised", Class: Rejected, Seen: "2.40.7",
		Source: "n8n-nodes-base 2.40.2, TelegramTrigger.node.js and JiraTrigger.node.js, which return noWebhookResponse and no output",
		match:  fixed(exactly(403), is("Provided secret is not valid", "Provided authentication data is not valid", "Auth settings are not valid, some data are missing")),
	},

	{
		Name: "call_received", Class: Filtered, Seen: sinceOne,
		Source: `webhooks/webhook-helpers.js: the node gave no output ("Only Run If" was false, or a trigger node dropped the event); it returns before the run`,
		match:  fixed(success, is("Webhook call received")),
	},
	{
		Name: "no_data", Class: NoData, Seen: sinceOne,
		Source: "webhooks/webhook-helpers.js, the end of executeWebhook: the execution ended without an error",
		match:  fixed(success, is("Workflow executed successfully but the last node did not return any data")),
	},

	{
		Name: "failed_at_start", Class: Doubtful, Seen: "1.123.0 to 2.40.7, without 2.20.0",
		Source: "webhooks/webhook-helpers.js, where the run has no data: only workflow-runner.js, failExecution, finalises one so (a workflow may not use a credential …). In spite of its words the execution failed, before its first node, and its error workflow ran",
		match:  fixed(success, is("Workflow executed successfully but no data was returned")),
	},
	{
		Name: "error_in_workflow", Class: Doubtful, Seen: sinceOne,
		Source: "webhooks/webhook-helpers.js: the execution failed, and what stood before the failure ran",
		match:  fixed(exactly(500), is("Error in workflow")),
	},
	{
		Name: "execution_failed", Class: Doubtful, Seen: sinceOne,
		Source: "scaling/scaling.service.js: a worker reported a failed execution (queue mode)",
		match:  fixed(exactly(500), is("Workflow execution failed")),
	},
	{
		Name: "problem_executing", Class: Doubtful, Seen: sinceOne,
		Source: "webhooks/webhook-helpers.js: from a body that is too large to a fault after the run began",
		match:  framework(500, "0", is("There was a problem executing the workflow"), absent),
	},
	{
		Name: "not_started", Class: Doubtful, Seen: sinceOne,
		Source: "webhooks/webhook-helpers.js, with n8n-nodes-base, nodes/Webhook/utils.js: the webhook node failed, but an execution is made, and with On Error = continue the rest of it runs",
		match: framework(500, "0", is(
			"Workflow Webhook Error: Workflow could not be started!",
			"Workflow Form Error: Workflow could not be started!",
			"No Respond to Webhook node found in the workflow",
			"Unused Respond to Webhook node found in the workflow",
		), absent),
	},
	{
		Name: "cancelled", Class: Doubtful, Seen: "2.40.7",
		Source: "n8n-workflow 2.40.1, errors/execution-cancelled.error.js, through active-executions.js, stopExecution",
		match: framework(500, "0", is(
			"The execution was cancelled",
			"The execution was cancelled manually",
			"The execution was cancelled because it timed out",
			"The execution was cancelled because the system is shutting down",
		), absent),
	},
	{
		Name: "nothing_to_return", Class: Doubtful, Seen: sinceOne,
		Source: "webhooks/webhook-last-node-response-extractor.js: the execution ended, and has not what it was to answer",
		match: framework(500, "0", either(
			is("No item to return was found", "No item was found to return", "No binary data was found to return",
				"No 'responseBinaryPropertyName' is set", "'responseBinaryPropertyName' is not a string"),
			like(`The binary property '[^\n]{1,1000}' which should be returned does not exist`),
		), absent),
	},
	{
		Name: "method_unsupported", Class: Doubtful, Seen: sinceOne,
		Source: "webhooks/webhook-request-handler.js, the first lines of handleRequest; a 500 with code 0, so the class is that of the others",
		match:  framework(500, "0", methodUnsupported, absent),
	},
	{
		Name: "body_aborted", Class: Doubtful, Seen: "2.30.0 to 2.40.7",
		Source: "middlewares/body-parser.js, readRawBody: the request did not arrive whole",
		match: framework(400, "400", is(
			"Request body stream was aborted or is not readable",
			"Request body stream was aborted mid-read or is not readable",
		), absent),
	},
	{
		Name: "no_answer", Class: Doubtful, Seen: "2.40.7",
		Source: "webhooks/webhook-helpers.js: the execution ended before a Respond to Webhook node; in queue mode also one that failed",
		match:  empty,
	},
	{
		Name: "express_error", Class: Doubtful, Seen: sinceOne,
		Source: "finalhandler 2.1.0, index.js (Express 5.1.0), with NODE_ENV=production: something threw outside n8n's own handling, as for an unknown webhook with an Origin header",
		match:  page(500, internalServerError),
	},
	{
		Name: "editor_page", Class: Doubtful, Seen: "the main branch",
		Source: "server.js, historyApiHandler, with the editor's index.html: this process serves no webhooks",
		match:  editor,
	},
}
