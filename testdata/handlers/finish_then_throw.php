<?php

// Answers early; what fails afterwards is invisible to the client.
echo 'success';
fastcgi_finish_request();
throw new RuntimeException('failed behind the answer');
