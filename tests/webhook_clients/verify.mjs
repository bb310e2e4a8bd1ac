// A receiver of webhooks that verifies them with the package standardwebhooks. Prints its URL, then
// one line for each request: "verified MESSAGE" or "refused REASON". Ends after COUNT requests.
// usage: node verify.mjs SECRET COUNT
import http from 'node:http';
import { Webhook } from 'standardwebhooks';

const [secret, count] = process.argv.slice(2);
const webhook = new Webhook(secret);
let received = 0;

const server = http.createServer((request, response) => {
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => {
    const body = Buffer.concat(pieces).toString();
    let line;
    try {
      const event = webhook.verify(body, request.headers);
      line = `verified ${event.type} ${event.data.client_message_id} ${event.data.body}`;
      response.writeHead(204);
    } catch (error) {
      line = `refused ${error.message}`;
      response.writeHead(401);
    }
    response.end();
    console.log(line);
    received += 1;
    if (received === Number(count)) {
      server.close();
      server.closeIdleConnections();
    }
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});
