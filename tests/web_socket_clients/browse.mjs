// The same in a page of headless Chromium, which `page` serves.
// usage: node browse.mjs PAGE_URL URL TOKEN COUNT PROFILE_FOLDER
import { chromium } from 'playwright-core';

const [page_url, url, token, count, profile] = process.argv.slice(2);
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  headless: true,
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
try {
  const page = await browser.newPage();
  await page.goto(page_url);
  const lines = await page.evaluate(({ url, token, count }) => new Promise((resolve) => {
    const lines = [];
    let received = 0;
    const socket = new WebSocket(url);
    const send = (frame) => socket.send(JSON.stringify(frame));
    socket.onclose = (event) => {
      lines.push(`closed ${event.code} ${event.reason} ${event.wasClean}`);
      resolve(lines);
    };
    socket.onmessage = (event) => {
      const frame = JSON.parse(event.data);
      if (frame.type === 'challenge') {
        send({ type: 'hello', mesh: 'team', token });
      } else if (frame.type === 'hello_ack') {
        lines.push(`hello ${frame.name}`);
        send({ type: 'feature_negotiation_request', require: ['client_message_id_dedupe'] });
      } else if (frame.type === 'push') {
        for (const one of frame.deliveries) {
          lines.push(`message ${one.client_message_id} ${one.body.length}`);
          received += 1;
        }
        send({ type: 'client_ack', delivery_ids: frame.deliveries.map((one) => one.delivery_id) });
      } else if (frame.type === 'ack' && received >= count) {
        socket.close(1000, 'done');
      }
    };
  }), { url, token, count: Number(count) });
  console.log(lines.join('\n'));
} finally {
  await browser.close();
}
